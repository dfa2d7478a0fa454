"""What a word is: folding, tokens, stems and stop words, by language.

`ingestion.analyse` is the front.
"""
