"""The systems that are compared, one module each.

Every module has the same names: `PACKAGE`, the distribution whose version is printed; `CASES`, by piece of work a
function from its data to `Steps`, such as fit and predict_proba. What is prepared outside the steps is not timed.
`ONE_THREAD = True` says that a system never uses more than one thread, so that it is measured once for all numbers.
A module whose package is not installed is reported as absent, with the reason.
"""

SYSTEMS = {
    "tallybayes": "tallybayes_models",
    "scikit-learn": "sklearn_bayes",
    "logistic regression": "logistic_pipeline",
    "LightGBM": "lightgbm_trees",
    "river": "river_streams",
    "mixed-naive-bayes": "mixed_naive_bayes_package",
    "wnb": "wnb_package",
    "Vowpal Wabbit": "vowpal_wabbit",
    "fastText": "fast_text",
    "Khiops": "khiops_bins",
    "Spark ML": "spark_ml",
}
OURS = "tallybayes"
