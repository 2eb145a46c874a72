"""scikit-learn's own checks of regressors; each exception is named with its reason."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import gssl

EXCUSED = {
    "check_fit2d_1sample": "its sentence counts known numbers, of which a model needs three, not samples",
}


@parametrize_with_checks([gssl.AutoRegressor(depth=2)], expected_failed_checks=lambda estimator: EXCUSED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
