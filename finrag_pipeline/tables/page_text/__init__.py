"""Detector ``page_text``: tables of filings that came as text only, put together from blocks of text."""
