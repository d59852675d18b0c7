"""What a question asks for: operation, measures, periods, kind of answer."""
