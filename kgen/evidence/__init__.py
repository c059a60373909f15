"""What was measured, what follows from it, and how anybody can check that later.

A record (`record`) is what the measuring side hands over. Everything after it works on that plain data and needs no GPU and
no torch: ratios with intervals (`analysis`), gates (`gates`), the table (`report`), receipts and what is derived from them.
"""
