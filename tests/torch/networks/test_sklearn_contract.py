"""scikit-learn's own checks on the deep classifiers; each exception is named with its reason."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import gssl

EXCUSED = {
    "check_classifiers_classes": "it names a class −1, which here means unlabelled",
}
# all share their checks and their training, so one of them is enough
ESTIMATORS = [gssl.torch.GCN(learning_rate=0.1, epochs=15, random_state=0)]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXCUSED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
