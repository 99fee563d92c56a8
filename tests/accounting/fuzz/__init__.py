"""Random compositions against truths that share no line of code with the accountant.

`laws.py` states each mechanism's two distributions from its definition, `truths.py` computes
profiles of their products, `table.py` draws mechanisms, `judging.py` asks the accountant.

    python -m tests.accounting.fuzz --cases 5000
"""
