// One HTML file about one run, which needs nothing else to be looked at: the guarantee, pictures,
// curves, what classifiers made of the synthetic data, the ledger, the recipe.
//
//   write_file("runs/a/report.html", report_html("runs/a", PrivatePart::kLeftOut).html);
#pragma once

#include <optional>
#include <string>

#include "obol/base/file.h"
#include "obol/report/facts.h"

namespace obol::report {

struct Report {
  std::string html;
  bool is_private;  // holds what was computed with private records: not for release
};

// Errors as read_facts. Real test images are left out, with a sentence, where the data are not on
// this machine.
// `real` is where they are read from, and a person's own word for it; else see real_samples.
Report report_html(const Path& run, PrivatePart part,
                   const std::optional<std::string>& real = std::nullopt);

}  // namespace obol::report
