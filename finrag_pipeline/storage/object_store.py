"""Lakes in an object store that speaks S3. Address, region and keys are those of the AWS tools: ``AWS_…``."""

from __future__ import annotations

from typing import Any

import s3fs.core
from botocore.exceptions import BotoCoreError, ConnectionError

from finrag_pipeline.errors import LakeError

s3fs.core.add_retryable_error(ConnectionError)  # by itself it repeats what fails later than at the connection


class ObjectStore(s3fs.S3FileSystem):
    """s3fs, whose errors of connections are the lake's: a file that cannot be asked for is not a damaged one.

    A request is repeated for some ten seconds before it is given up.
    """

    retries = 8

    def __init__(self, **options: Any) -> None:
        # Repeated by s3fs alone: both together would take minutes to say that nothing answers.
        super().__init__(**{"config_kwargs": {"retries": {"total_max_attempts": 1}}, **options})

    async def _call_s3(self, method: str, *options: Any, **request: Any) -> Any:
        try:
            return await super()._call_s3(method, *options, **request)
        except BotoCoreError as error:
            raise LakeError(
                f"The object store cannot be used: {str(error).rstrip('.')}.",
                "Check the connection and AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, "
                "AWS_REGION, then run again: what is done is kept.",
            ) from error
