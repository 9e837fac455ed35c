"""Sessions: asking, explaining, tuning, opening."""
