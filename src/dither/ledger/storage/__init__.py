"""Where a ledger is kept: tables, transactions, turns among writers, and errors in our own words.

Flow: `dither.ledger.journal` is the one user. Relies on SQLAlchemy Core; nothing here knows prices or budgets.
"""
