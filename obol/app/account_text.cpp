// An account as text, as JSON, and drawn.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/app/account.h"
#include "obol/base/text.h"
#include "obol/privacy/certificate.h"
#include "obol/privacy/event_json.h"
#include "obol/report/plot.h"

namespace obol::app {
namespace {

using nlohmann::ordered_json;
using privacy::Guarantee;
using privacy::name_of;
using privacy::Neighbours;
using privacy::PlannedEvent;

std::string in_words(Neighbours neighbours) {
  switch (neighbours) {
    case Neighbours::kReplaceOne:
      return "one record has another value";
    case Neighbours::kPerson:
      return "one person gives any other input";
    default:
      return "one record more or less";
  }
}

std::string releases(const Bill& bill, const std::vector<RunCost>& alone) {
  std::string text;
  std::size_t width = 16;
  for (const RunCost& cost : alone) width = std::max(width, cost.run.size());
  for (const RunCost& cost : alone)
    text += fmt::format("  {:<{}}  epsilon {} alone\n", printable(cost.run), width,
                        rounded_up(cost.epsilon));
  if (!alone.empty()) return text;
  for (const PlannedEvent& item : bill.items)
    if (!item.purpose.empty())
      text += fmt::format("  {:<16} {}\n", printable(item.purpose), privacy::describe(item.event));
  return text;
}

std::string guarantee_text(const Account& account) {
  const Bill& bill = account.bill;
  const Guarantee& guarantee = account.guarantee;
  std::string text = fmt::format("guarantee        epsilon {} at delta {}\n",
                                 rounded_up(guarantee.epsilon), rounded_up(guarantee.delta));
  text += fmt::format("accountant       {}\n",
                      guarantee.order ? fmt::format("rdp, best order {:.4g}", *guarantee.order)
                                      : fmt::format("pld, certified between {} and {}",
                                                    rounded_down(guarantee.epsilon_lower),
                                                    rounded_up(guarantee.epsilon)));
  text += fmt::format("neighbours       {}: {}\n", name_of(guarantee.neighbours),
                      in_words(guarantee.neighbours));
  if (guarantee.group_size > 1)
    text += fmt::format("groups           of up to {} records\n", guarantee.group_size);
  if (bill.budget)
    text += fmt::format("budget           epsilon {}: {}\n", *bill.budget,
                        guarantee.epsilon <= *bill.budget ? "kept" : "exceeded");
  for (const RenyiPoint& point : account.curve)
    text += fmt::format("rdp at {:<9} {}\n", point.order, rounded_up(point.value, 12));
  if (account.published)
    text +=
        fmt::format("as published     epsilon {}\n\n{}\n", rounded_up(account.published->epsilon),
                    wrapped(privacy::in_words(*account.published, guarantee.epsilon), 100));
  return text;
}

template <class T>
ordered_json or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

}  // namespace

std::string to_text(const Account& account) {
  const Bill& bill = account.bill;
  const Guarantee& guarantee = account.guarantee;
  std::string text;
  if (!bill.title.empty()) text += printable(bill.title) + "\n\n";
  text += releases(bill, account.alone);
  for (const std::string& remark : bill.remarks) text += fmt::format("  {}\n", printable(remark));
  if (!bill.title.empty()) text += '\n';
  if (!account.alone.empty()) {
    const std::string total = fmt::format(
        "Together these {} runs have epsilon {} at delta {}, also where each was chosen by "
        "looking at what earlier ones had released. If all of them were fixed before the first "
        "release, as those of one sweep are, it is epsilon {}. They are taken to be on the same "
        "data.",
        account.alone.size(), rounded_up(guarantee.epsilon), rounded_up(guarantee.delta),
        rounded_up(account.if_fixed));
    text += wrapped(total, 100) + "\n\n";
  }
  return text + guarantee_text(account);
}

std::string to_json(const Account& account) {
  const Guarantee& guarantee = account.guarantee;
  ordered_json value;
  value["epsilon"] = guarantee.epsilon;
  value["epsilon_if_fixed"] = account.if_fixed;
  value["epsilon_lower"] = guarantee.accountant == privacy::AccountantKind::kPld
                               ? ordered_json(guarantee.epsilon_lower)
                               : ordered_json(nullptr);
  value["delta"] = guarantee.delta;
  value["accountant"] = name_of(guarantee.accountant);
  value["order"] = or_null(guarantee.order);
  value["neighbours"] = name_of(guarantee.neighbours);
  value["group_size"] = guarantee.group_size;
  value["rdp"] = ordered_json::object();
  for (const RenyiPoint& point : account.curve) value["rdp"][point.order] = point.value;
  value["as_published"] = nullptr;
  if (const auto& published = account.published)
    value["as_published"] = {{"epsilon", published->epsilon},
                             {"paper", published->count.paper},
                             {"left_out", published->left_out},
                             {"is_a_guarantee", published->is_a_guarantee()}};
  value["budget"] = or_null(account.bill.budget);
  value["runs"] = ordered_json::array();
  for (const RunCost& cost : account.alone)
    value["runs"].push_back({{"run", cost.run}, {"epsilon", cost.epsilon}});
  value["events"] = ordered_json::array();
  for (const PlannedEvent& item : account.bill.items)
    value["events"].push_back(
        {{"purpose", item.purpose}, {"event", ordered_json::parse(privacy::json_of(item.event))}});
  value["seconds"] = account.seconds;
  return value.dump();
}

std::string to_svg(const Account& account) {
  const Bill& bill = account.bill;
  const auto& published = account.published;
  const Delta delta = account.delta;
  constexpr int kPoints = 40;
  std::int64_t most = 1;
  for (const PlannedEvent& item : bill.items) most = std::max(most, privacy::count_of(item.event));
  report::Plot plot{.title = fmt::format("Privacy spent at delta {}", rounded_up(delta.value())),
                    .x_label = "steps",
                    .y_label = "epsilon",
                    .lines = {{"guarantee", {}}}};
  if (published)
    plot.lines.push_back(
        {published->is_a_guarantee() ? "as published" : "as published, no guarantee", {}});
  if (bill.budget) plot.marks.push_back({fmt::format("budget {}", *bill.budget), *bill.budget});
  for (int i = 1; i <= kPoints; ++i) {
    const double share = std::pow(static_cast<double>(i) / kPoints, 2);  // it rises fast at first
    const auto part = [&](std::int64_t count) {
      return static_cast<std::int64_t>(std::ceil(static_cast<double>(count) * share));
    };
    std::vector<privacy::Event> events;
    for (const privacy::Event& event : privacy::events_of(bill.items))
      events.push_back(privacy::with_count(event, part(privacy::count_of(event))));
    const double x = static_cast<double>(part(std::max(most, bill.steps)));
    plot.lines[0].points.emplace_back(x, privacy::account(events, delta, account.how).epsilon);
    if (published)
      plot.lines[1].points.emplace_back(
          x, privacy::account_as_published(published->count, part(published->releases), delta)
                 .epsilon);
  }
  return report::plot_svg(plot);
}

std::string to_text(const DataCost& cost) {
  std::string text;
  std::size_t width = 3;
  for (const auto& [use, epsilon] : cost.uses) width = std::max(width, use.folder.string().size());
  for (const auto& [use, epsilon] : cost.uses)
    text +=
        fmt::format("  {:<{}}  {}  epsilon {} at delta {} ({}){}\n", use.folder.string(), width,
                    use.time, rounded_up(epsilon), rounded_up(use.delta), name_of(use.neighbours),
                    std::filesystem::exists(use.folder) ? "" : ", removed");
  for (const privacy::UseTotal& total : cost.totals)
    text += fmt::format("\ntotal            epsilon {} at delta {} ({}), {} {}\n",
                        rounded_up(total.epsilon), rounded_up(total.delta),
                        name_of(total.neighbours), total.runs, total.runs == 1 ? "use" : "uses");
  if (cost.uses.empty()) text += "these data were not used on this machine before\n";
  return text;
}

std::string to_json(const DataCost& cost) {
  ordered_json value = {{"uses", ordered_json::array()}, {"totals", ordered_json::array()}};
  for (const auto& [use, epsilon] : cost.uses)
    value["uses"].push_back({{"folder", use.folder.string()},
                             {"time", use.time},
                             {"epsilon", epsilon},
                             {"delta", use.delta},
                             {"neighbours", name_of(use.neighbours)},
                             {"exists", std::filesystem::exists(use.folder)}});
  for (const privacy::UseTotal& total : cost.totals)
    value["totals"].push_back({{"neighbours", name_of(total.neighbours)},
                               {"uses", total.runs},
                               {"epsilon", total.epsilon},
                               {"delta", total.delta}});
  return value.dump();
}

}  // namespace obol::app
