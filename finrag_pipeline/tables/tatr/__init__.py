"""Detector ``tatr``: Microsoft's Table Transformer, which finds tables and their structure by sight."""
