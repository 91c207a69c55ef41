#include "obol/report/published.h"

namespace obol::report {
namespace {

constexpr const char* kGsWgan = "Chen, Orekondy and Fritz 2020";
constexpr const char* kDpMerf = "Harder, Adamczewski and Park 2021";
constexpr const char* kDpSinkhorn = "Cao, Bie, Vahdat, Fidler and Kreis 2021";
constexpr const char* kRerun = "Cao et al. 2021, run again by others";
constexpr const char* kRevisited = "Bie, Kamath and Zhang 2023";
constexpr const char* kDpdm = "Dockhorn, Cao, Vahdat and Kreis 2023";

constexpr PublishedFigures kMnist[] = {
    {"GS-WGAN", kGsWgan, 10, false, 61.3, 0.79, 0.79, 0.80},
    {"DP-MERF", kDpMerf, 10, true, 116.3, 0.794, 0.783, 0.821},
    {"DP-Sinkhorn", kDpSinkhorn, 10, false, 48.4, 0.828, 0.827, 0.832},
    {"DP-Sinkhorn, batch barrier", kRerun, 10, true, 78.0, 0.776, 0.770, 0.796},
    {"Private GANs, revisited", kRevisited, 10, true, 13.0, {}, {}, 0.950},
    {"DPDM, for accuracy", kDpdm, 10, true, 6.65, 0.908, 0.948, 0.981},
    {"DPDM, for FID", kDpdm, 10, true, 5.01, 0.905, 0.946, 0.973},
    {"DPDM, for accuracy", kDpdm, 1, true, 35.5, 0.867, 0.916, 0.953},
    {"DPDM, for FID", kDpdm, 1, true, 23.4, 0.838, 0.870, 0.934},
};

constexpr PublishedFigures kFashionMnist[] = {
    {"GS-WGAN", kGsWgan, 10, false, 131.3, 0.68, 0.65, 0.65},
    {"DP-MERF", kDpMerf, 10, true, 132.6, 0.755, 0.745, 0.754},
    {"DP-Sinkhorn", kDpSinkhorn, 10, false, 128.3, 0.751, 0.746, 0.711},
    {"DPDM, for accuracy", kDpdm, 10, true, 19.1, 0.811, 0.830, 0.862},
};

}  // namespace

std::span<const PublishedFigures> published_figures(std::string_view data) {
  if (data == "mnist") return kMnist;
  if (data == "fashion-mnist") return kFashionMnist;
  return {};
}

}  // namespace obol::report
