// How well a classifier does on private records, as a number that may be handed out: for choosing
// among models by something better than the test split.
//
//   double accuracy = noisy_accuracy(classifier, records, door, 200);   // +- 200 records
//
// Guarantee: one event Gaussian(noise), written before anything is opened. Whether a record is
// added, removed or replaced, the number of those that are classified rightly changes by one at
// most; it is divided by the number of records, which is public. The classifier must not depend on
// the records but through what was released.
#pragma once

#include "obol/barrier/door.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/model/classifier.h"

namespace obol::evaluate {

// `noise` is the standard deviation, in records. May be below 0 or above 1 by chance.
// BudgetExceeded, and nothing is opened, where the budget does not allow it.
double noisy_accuracy(model::Classifier& classifier, const Private<data::Dataset>& records,
                      barrier::Door& door, double noise);

}  // namespace obol::evaluate
