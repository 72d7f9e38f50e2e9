"""The script that stands beside the command `tally`: CSV in, CSV out, with pandas and scikit-learn.

python -m bench.pandas_script fit DATA.csv MODEL.pickle
python -m bench.pandas_script predict MODEL.pickle DATA.csv ANSWERS.csv
"""

import pickle
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder


def table_pipeline(classifier: ClassifierMixin) -> Any:
    """Categories as zeros and ones, gaps filled, then a classifier."""
    words = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    numbers = SimpleImputer(strategy="median")
    by_kind = make_column_transformer(
        (words, make_column_selector(dtype_include=[object, "string", "category"])),
        (numbers, make_column_selector(dtype_include=["number", "bool"])),
    )
    return make_pipeline(by_kind, classifier)


def fit(data: str, model: str) -> None:
    frame = pd.read_csv(data)
    fitted = table_pipeline(GaussianNB()).fit(frame.drop(columns="label"), frame["label"])
    Path(model).write_bytes(pickle.dumps(fitted))


def predict(model: str, data: str, answers: str) -> None:
    fitted, frame = pickle.loads(Path(model).read_bytes()), pd.read_csv(data)
    p = fitted.predict_proba(frame.drop(columns="label"))
    best = p.argmax(axis=1)
    frame.assign(predicted=fitted.classes_[best], probability=p.max(axis=1)).to_csv(answers, index=False)


if __name__ == "__main__":
    {"fit": fit, "predict": predict}[sys.argv[1]](*sys.argv[2:])
