"""Tables, bars and plots of shares, made from plain columns."""
