"""The benchmark: what a search and an ingestion cost here and now, as ratios to their bare parts.

Absolute times say more about the machine than about Dolphy, so everything is measured in one run,
in turns, beside the bare thing it is made of: the statement beside a bare vector query of the same
agent, `retrieve()` beside the statement, ingestion beside the embedder alone. `docs/benchmark.md`
says how to read the figures.
"""
