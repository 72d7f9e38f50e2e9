"""The main job in one go: fit, predict, evaluate, explain, learn, forget, on penguins with gaps; and a spam filter."""

import numpy as np
from palmerpenguins import load_penguins
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss
from sklearn.model_selection import cross_val_score, train_test_split

import tallybayes as tb
from tallybayes import kernels
from tallybayes.demo_data.example_files import LETTERS


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}")


def main() -> None:
    penguins = load_penguins()
    train, test = train_test_split(penguins, test_size=1 / 3, random_state=0, stratify=penguins["species"])

    heading("Fit: one call, mixed columns, gaps and all")
    model = tb.fit(train, label="species")
    print(f"{len(train)} rows, kernels: {kernels.IMPLEMENTATION}")
    print(model.schema)

    heading("Predict and evaluate: the rows held out")
    p, truth = model.predict_proba(test), test["species"].to_numpy()
    predicted = model.predict(test)
    majority = test["species"].value_counts(normalize=True).max()
    print(f"accuracy  {accuracy_score(truth, predicted):.3f}   (always the commonest species: {majority:.3f})")
    print(f"log loss  {log_loss(truth, p, labels=model.classes):.3f}   (nats)")
    print("\nrows: true species, columns: predicted")
    print(f"{'':<10}" + "".join(f"{c:>11}" for c in model.classes))
    for label, row in zip(model.classes, confusion_matrix(truth, predicted, labels=model.classes), strict=True):
        print(f"{label:<10}" + "".join(f"{n:>11}" for n in row))

    heading("Explain: the least certain of them, in decibans")
    unsure = int(np.argmin(p.max(axis=1)))
    print(model.explain(test.iloc[[unsure]])[0])
    print(f"(it was {truth[unsure]})")

    heading("A model is a sum: learn the rest, take it back, merge two halves")
    both = model.copy()
    both.learn(test)
    print(f"learned {len(test)} more rows: {both.class_counts}")
    both.forget(test)
    print(f"forgot them again: the same sums as before, bit for bit: {both.same_counts(model)}")
    halves = [tb.fit(part, label="species") for part in (train[::2], train[1::2])]
    merged = halves[0].merge(halves[1])
    print(f"two halves, fitted apart and merged: the same sums as the whole: {merged.same_counts(model)}")

    heading("In scikit-learn: the frame as it is, ten folds, nothing before it")
    features = penguins.drop(columns="species")
    for nb in (tb.NaiveBayesClassifier(), tb.NaiveBayesClassifier(numeric="gaussian")):
        print(f"{nb!s:<42} accuracy {cross_val_score(nb, features, penguins['species'], cv=10).mean():.3f}")

    heading("Text: a folder of mail for each label is a spam filter")
    spam_filter = tb.fit(LETTERS / "mail", label="label", only=["text"])
    print(f"{sum(spam_filter.class_counts.values())} mails; their text is {spam_filter.schema.families['text']}")
    print(spam_filter.explain(LETTERS / "inbox" / "2-winner.eml")[0])

    heading("Make up a penguin, and judge it")
    made = model.sample(1, seed=7)
    print(made.to_pylist()[0])
    print(f"log p(x) = {model.log_marginal(made)[0]:.1f}, predicted {model.predict(made)[0]}")

    heading("Or write a model down: a test that finds 90 % of the ill, with 5 % false alarms, 1 % are ill")
    cancer = tb.from_probabilities(
        {"ill": 0.01, "well": 0.99}, {"test": {"ill": {"+": 0.9, "-": 0.1}, "well": {"+": 0.05, "-": 0.95}}}
    )
    print(f"P(ill | +) = {cancer.predict_proba({'test': '+'})[0, 0]:.3f}")


if __name__ == "__main__":
    main()
