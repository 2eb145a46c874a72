"""scikit-learn's own checks; each exception is named with its reason."""

from sklearn.utils.estimator_checks import parametrize_with_checks

import gssl

EXCUSED = {
    "check_classifiers_classes": "it names a class −1, which here means unlabelled",
}
ESTIMATORS = [
    gssl.AutoClassifier(depth=2),
    gssl.CalibratedClassifier(gssl.EmbeddingClassifier(gssl.SGC(), head="ridge"), folds=5),
]


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXCUSED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
