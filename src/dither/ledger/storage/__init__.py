"""Where a ledger is kept: tables, transactions, turns among writers, and errors in our own words.

Flow: `dither.ledger.journal` is the one user. Relies on sqlite3, and on psycopg for a server; nothing here knows prices
or budgets.
"""
