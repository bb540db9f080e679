"""The normal distribution function and its inverse on whole arrays, without SciPy."""

from __future__ import annotations

import math

import numpy as np

from murmurs.numerics.arrays import Floats

# Hart (1968), as in West (2005), Better approximations to cumulative normal functions.
_ABOVE = (
    3.52624965998911e-02,
    0.700383064443688,
    6.37396220353165,
    33.912866078383,
    112.079291497871,
    221.213596169931,
    220.206867912376,
)
_UNDER = (
    8.83883476483184e-02,
    1.75566716318264,
    16.064177579207,
    86.7807322029461,
    296.564248779674,
    637.333633378831,
    793.826512519948,
    440.413735824752,
)
_FAR = 7.07106781186547

# Wichura (1988), algorithm AS 241.
_MIDDLE = (
    (
        2.5090809287301226727e3,
        3.3430575583588128105e4,
        6.7265770927008700853e4,
        4.5921953931549871457e4,
        1.3731693765509461125e4,
        1.9715909503065514427e3,
        1.3314166789178437745e2,
        3.3871328727963666080e0,
    ),
    (
        5.2264952788528545610e3,
        2.8729085735721942674e4,
        3.9307895800092710610e4,
        2.1213794301586595867e4,
        5.3941960214247511077e3,
        6.8718700749205790830e2,
        4.2313330701600911252e1,
        1.0,
    ),
)
_TAIL = (
    (
        7.74545014278341407640e-4,
        2.27238449892691845833e-2,
        2.41780725177450611770e-1,
        1.27045825245236838258e0,
        3.64784832476320460504e0,
        5.76949722146069140550e0,
        4.63033784615654529590e0,
        1.42343711074968357734e0,
    ),
    (
        1.05075007164441684324e-9,
        5.47593808499534494600e-4,
        1.51986665636164571966e-2,
        1.48103976427480074590e-1,
        6.89767334985100004550e-1,
        1.67638483018380384940e0,
        2.05319162663775882187e0,
        1.0,
    ),
)
_FAR_TAIL = (
    (
        2.01033439929228813265e-7,
        2.71155556874348757815e-5,
        1.24266094738807843860e-3,
        2.65321895265761230930e-2,
        2.96560571828504891230e-1,
        1.78482653991729133580e0,
        5.46378491116411436990e0,
        6.65790464350110377720e0,
    ),
    (
        2.04426310338993978564e-15,
        1.42151175831644588870e-7,
        1.84631831751005468180e-5,
        7.86869131145613259100e-4,
        1.48753612908506148525e-2,
        1.36929880922735805310e-1,
        5.99832206555887937690e-1,
        1.0,
    ),
)


def below(values: Floats) -> Floats:
    """Return the probability below each value; small ones keep their digits.

    >>> below(np.array([-1.96, 0.0, 1.0])).round(4)
    array([0.025 , 0.5   , 0.8413])
    """
    x = np.abs(values)
    tail = np.exp(-0.5 * x * x)
    far = x > _FAR
    tail = np.where(
        far,
        tail / (x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))))) / math.sqrt(2 * math.pi),
        tail * _polynomial(_ABOVE, np.minimum(x, _FAR)) / _polynomial(_UNDER, np.minimum(x, _FAR)),
    )
    return np.asarray(np.where(values > 0, 1 - tail, tail))


def quantiles(probabilities: Floats) -> Floats:
    """Return the values below which these probabilities lie, each above 0 and below 1.

    >>> quantiles(np.array([0.025, 0.5, 0.8413])).round(2)
    array([-1.96,  0.  ,  1.  ])
    """
    q = probabilities - 0.5
    middle = np.abs(q) <= 0.425
    r = 0.180625 - np.where(middle, q, 0.0) ** 2
    near = q * _polynomial(_MIDDLE[0], r) / _polynomial(_MIDDLE[1], r)
    tail = np.minimum(probabilities, 1 - probabilities)
    r = np.sqrt(-np.log(np.where(middle, 0.05, tail)))
    short, long = np.minimum(r, 5.0) - 1.6, np.maximum(r, 5.0) - 5.0
    away = np.where(
        r <= 5.0,
        _polynomial(_TAIL[0], short) / _polynomial(_TAIL[1], short),
        _polynomial(_FAR_TAIL[0], long) / _polynomial(_FAR_TAIL[1], long),
    )
    return np.asarray(np.where(middle, near, np.copysign(away, q)))


def _polynomial(coefficients: tuple[float, ...], x: Floats) -> Floats:
    """Return the polynomial whose coefficients begin with that of the highest power."""
    out = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        out *= x
        out += coefficient
    return out
