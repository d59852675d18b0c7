"""The HTTP service: the answers of ``finrag search`` for other programs. No algorithm lives here."""
