"""What an owner declares about the data: read from dither.toml, drafted, checked, or built from arguments."""
