// An evaluation as sections of a page: accuracies, confusion, quality, memorisation.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/evaluate/evaluation.h"
#include "obol/report/facts.h"
#include "obol/report/html.h"

namespace obol::report {

// "CNN", "Logistic regression"; a name that is not known stays.
std::string classifier_name(std::string_view name);
std::string quality_name(std::string_view name);

// The one to be looked at first: the CNN's, where there is one.
const ClassifierScore* main_score(const Evaluation& evaluation);

// Where there is no evaluation, how to make one.
Html evaluation_sections(const std::optional<Evaluation>& evaluation,
                         const std::vector<std::string>& class_names);

// `evaluation` is that of private/.
Html memorisation_section(const std::optional<Evaluation>& evaluation, PrivatePart part);

}  // namespace obol::report
