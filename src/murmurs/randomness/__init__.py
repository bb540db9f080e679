"""Randomness, passed in by the caller and used through two methods: ``chance`` and ``below``.

`Secure` is for devices and for real data, a NumPy generator (or `Seeded`) for reproducible studies,
`Derived` for what a device draws once and must find again, `Keyed` for tables that are encoded on a
cluster, `Given` for known-answer vectors. Every call that makes reports takes it as ``random`` and
uses `Secure` by default. Calls for one person take anything with the two methods; calls for many
take `Secure`, `Keyed` or a generator. ``simulate`` makes no report: without a generator it uses one
of NumPy's that the operating system seeds.
"""
