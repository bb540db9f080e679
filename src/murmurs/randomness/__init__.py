"""Chance, handed in through two verbs: ``chance(numerator)`` and ``below(n)``.

`Secure` is for devices and for real data, a NumPy generator (or `Study`) for reproducible studies,
`Derived` for what a device draws once and must find again, `Given` for known-answer vectors. Every
call that needs chance takes it as ``random`` and uses `Secure` if nothing is handed in. Calls for
one person take anything with the two verbs; calls for many take `Secure` or a generator.
"""
