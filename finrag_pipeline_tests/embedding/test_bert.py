"""The numpy forward pass gives what transformers gives."""

from __future__ import annotations

import numpy as np
import pytest

from finrag_pipeline.embedding.bert import Bert


@pytest.mark.parametrize("layers", [1, 3])
def test_hidden_states_are_those_of_transformers(layers: int) -> None:
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(layers)
    config = BertConfig(
        vocab_size=50, hidden_size=24, num_hidden_layers=layers, num_attention_heads=3, intermediate_size=40,
        max_position_embeddings=16, hidden_act="gelu_pytorch_tanh",
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False).eval()
    ids = torch.randint(1, 50, (4, 11))
    types, mask = torch.zeros_like(ids), torch.ones_like(ids)
    types[:, 5:] = 1
    mask[2, 7:] = 0
    with torch.no_grad():
        wanted = model(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state.numpy()
    weights = {name: value.numpy() for name, value in model.state_dict().items()}
    got = Bert(weights, 3, layers).hidden(ids.numpy(), types.numpy(), mask.numpy())
    assert got.dtype == np.float32
    np.testing.assert_allclose(got[mask.numpy() > 0], wanted[mask.numpy() > 0], atol=2e-5)
