"""Classifiers of GS-WGAN's tables A1 and A2 with scikit-learn's defaults, for `obol evaluate --suite`.

    python3 suite.py synthetic.npz real.npz

Each file has `images` and `labels`. Prints a line of JSON for each classifier: its name and its
accuracy on the real images after training on the synthetic ones.
"""
import json
import sys
import warnings


def say(**values):
    print(json.dumps(values), flush=True)


def load(path):
    import numpy
    data = numpy.load(path)
    images = data["images"]
    if images.dtype == numpy.uint8:
        images = images / numpy.float32(255)
    return images.reshape(len(images), -1), data["labels"]


def classifiers():
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import (AdaBoostClassifier, BaggingClassifier, GradientBoostingClassifier,
                                  RandomForestClassifier)
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier
    yield "adaboost", AdaBoostClassifier(random_state=0)
    yield "bagging", BaggingClassifier(random_state=0)
    yield "bernoulli_nb", BernoulliNB()
    yield "decision_tree", DecisionTreeClassifier(random_state=0)
    yield "gaussian_nb", GaussianNB()
    yield "gbm", GradientBoostingClassifier(random_state=0)
    yield "lda", LinearDiscriminantAnalysis()
    yield "linear_svc", LinearSVC(random_state=0)
    yield "logistic_reg", LogisticRegression()
    yield "random_forest", RandomForestClassifier(random_state=0)
    try:
        from xgboost import XGBClassifier
    except ImportError:
        say(missing="xgboost")
    else:
        yield "xgboost", XGBClassifier(n_jobs=2)


def main(synthetic, real):
    warnings.simplefilter("ignore")
    try:
        import sklearn  # noqa: F401
    except ImportError:
        say(missing="sklearn")
        return 1
    import numpy
    images, labels = load(synthetic)
    test_images, test_labels = load(real)
    # XGBoost wants every class from 0 on to be there.
    present, labels = numpy.unique(labels, return_inverse=True)
    for name, classifier in classifiers():
        try:
            classifier.fit(images, labels)
            accuracy = float((present[classifier.predict(test_images)] == test_labels).mean())
        except Exception as error:  # one that cannot cope leaves the others be
            say(name=name, error=str(error).split("\n")[0])
        else:
            say(name=name, accuracy=accuracy)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
