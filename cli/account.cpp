// obol account: what releases cost, of a recipe before paying, of runs so far, or by numbers
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/numbers.h"
#include "obol/base/console.h"
#include "obol/base/file.h"
#include "obol/base/plot.h"
#include "obol/base/text.h"
#include "obol/data/fingerprint.h"
#include "obol/data/reader.h"
#include "obol/method/certificates.h"
#include "obol/method/methods.h"
#include "obol/privacy/accountant.h"
#include "obol/privacy/certificate.h"
#include "obol/privacy/event_json.h"
#include "obol/privacy/plan.h"
#include "obol/privacy/registry.h"
#include "obol/recipe/recipe.h"
#include "obol/run/folder.h"

namespace obol::cli {
namespace {

namespace fs = std::filesystem;
using method::read_terms;
using nlohmann::ordered_json;
using privacy::account;
using privacy::account_as_published;
using privacy::account_stages;
using privacy::accountant_from;
using privacy::AccountantKind;
using privacy::Accounting;
using privacy::CertificateTerms;
using privacy::check;
using privacy::common_neighbours;
using privacy::Conversion;
using privacy::count_of;
using privacy::describe;
using privacy::Event;
using privacy::FixedBatchGaussian;
using privacy::Gaussian;
using privacy::Guarantee;
using privacy::json_of;
using privacy::kCertificateName;
using privacy::kLedgerName;
using privacy::LedgerRecord;
using privacy::name_of;
using privacy::Neighbours;
using privacy::Plan;
using privacy::PlannedEvent;
using privacy::PublishedCount;
using privacy::PublishedEpsilon;
using privacy::RdpAccountant;
using privacy::read_ledger;
using privacy::released_in;
using privacy::SampledGaussian;
using privacy::ShardGaussian;
using privacy::Stage;
using privacy::stages_of;
using privacy::with_count;

struct AccountArguments {
  std::vector<std::string> what;
  std::string data;
  std::optional<double> sampling_rate;
  std::optional<double> noise_multiplier;
  std::optional<double> delta;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> releases_per_step;
  std::optional<std::int64_t> group_size;
  std::string sampling;
  std::string accountant;
  std::string conversion = "tight";
  std::string orders;
  std::string plot;
  std::vector<std::string> overrides;
  bool as_json = false;
};

// What is to be accounted for, wherever it was described.
struct Bill {
  std::string title;
  std::vector<PlannedEvent> items;
  std::vector<std::string> runs = {};  // where it is of several; items have their names
  std::vector<Stage> stages = {};      // of runs, in the order in which they were planned
  std::optional<Delta> delta;
  std::optional<double> budget;
  std::optional<PublishedCount> published;
  std::vector<PlannedEvent> released = {};  // by purpose, where there is a published count
  std::int64_t steps = 0;                   // of a recipe
  int group_size = 1;                       // that certificates of runs speak of
  std::vector<std::string> remarks;
  Neighbours neighbours = Neighbours::kAsStated;
};

Event event_of(const AccountArguments& arguments) {
  const double multiplier =
      privacy::joint(needed(arguments.noise_multiplier, "--noise-multiplier"),
                     static_cast<double>(arguments.releases_per_step.value_or(1)));
  const std::int64_t steps = needed(arguments.steps, "--steps");
  if (arguments.releases_per_step.value_or(1) < 1)
    throw InvalidArgument(
        violation("--releases-per-step", "at least 1", *arguments.releases_per_step));
  if (arguments.sampling == "none") {
    if (arguments.sampling_rate)
      throw InvalidArgument("--sampling-rate must not be given with --sampling none");
    return Gaussian{multiplier, steps};
  }
  const double rate = needed(arguments.sampling_rate, "--sampling-rate");
  if (arguments.sampling == "without-replacement")
    return FixedBatchGaussian{rate, multiplier, steps};
  if (arguments.sampling == "shard") return ShardGaussian{rate, multiplier, steps};
  return SampledGaussian{rate, multiplier, steps};
}

Bill bill_of_recipe(const std::string& name, const AccountArguments& arguments,
                    const Accounting& how) {
  auto recipe = recipe::Recipe::load(recipe::find(name), arguments.overrides);
  const auto heading = recipe.read<recipe::Heading>("");
  const Plan plan = method::plan_of(recipe, how);
  Bill bill{.title = heading.title.value_or(name),
            .items = plan.planned,
            .runs = {},
            .delta = plan.delta,
            .budget = std::nullopt,
            .published = plan.published,
            .released = plan.planned,
            .steps = plan.steps,
            .remarks = {},
            .neighbours = plan.neighbours};
  if (plan.budget) bill.budget = plan.budget->value();
  if (plan.calibrated) bill.remarks.push_back("calibrated: " + *plan.calibrated);
  if (plan.supposed)
    bill.remarks.push_back(
        fmt::format("{}: epsilon {}", plan.supposed->assumption,
                    rounded_up(account({plan.supposed->event}, plan.delta, how).epsilon)));
  return bill;
}

bool is_run(const Path& path) { return fs::exists(path / kLedgerName); }

// Runs below a folder, by name. What a killed process left under a hidden name is none, and a run
// without a ledger, which paid for nothing, is named in `remarks`.
std::vector<std::string> runs_below(const Path& folder, std::vector<std::string>& remarks) {
  std::vector<std::string> runs;
  for (auto at = fs::recursive_directory_iterator(folder); at != fs::end(at); ++at) {
    if (!at->is_directory()) continue;
    const bool is_trained = run::RunFolder::is_run(at->path());
    if (at->path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
    } else if (is_run(at->path())) {
      runs.push_back(at->path().string());
      at.disable_recursion_pending();
    } else if (is_trained) {
      remarks.push_back(fmt::format("{}: trained without privacy; no number covers its release",
                                    at->path().string()));
    }
  }
  if (runs.empty())
    throw DataError(violation(folder.string(), "a run, or a folder with runs below it", "neither"));
  std::sort(runs.begin(), runs.end());
  return runs;
}

// Each once, however it was named.
std::vector<std::string> runs_of(const std::vector<std::string>& names,
                                 std::vector<std::string>& remarks) {
  std::vector<std::string> runs;
  std::vector<Path> places;
  for (const std::string& name : names) {
    if (!fs::is_directory(name))
      throw DataError(violation(name, fmt::format("a run, with a {}", kLedgerName), "none"));
    for (const std::string& run :
         is_run(name) ? std::vector<std::string>{name} : runs_below(name, remarks)) {
      const Path place = fs::weakly_canonical(run);
      if (std::find(places.begin(), places.end(), place) != places.end()) continue;
      places.push_back(place);
      runs.push_back(run);
    }
  }
  return runs;
}

Bill bill_of_runs(const std::vector<std::string>& given) {
  Bill bill{.title = join(given, " and ")};
  const std::vector<std::string> names = runs_of(given, bill.remarks);
  if (names.size() > 1) bill.runs = names;
  for (const std::string& name : names) {
    follow_no_links_below(name);
    const LedgerRecord ledger = read_ledger(Path(name) / kLedgerName);
    bill.neighbours = common_neighbours(bill.neighbours, ledger.header.neighbours);
    for (Stage& stage : stages_of(ledger)) {
      for (const PlannedEvent& release : stage.releases)
        bill.items.push_back({names.size() == 1 ? release.purpose : name, release.event});
      if (!stage.is_planned)
        bill.remarks.push_back(fmt::format(
            "{}: without a plan; when it stopped must not depend on what it released", name));
      bill.stages.push_back(std::move(stage));
    }
    if (ledger.torn)
      bill.remarks.push_back(fmt::format(
          "{}: the ledger's last {} bytes are torn; counted for them: {}", name, ledger.torn->bytes,
          ledger.torn->counted ? describe(*ledger.torn->counted) : "nothing"));
    if (ledger.header.randomness.starts_with(privacy::kNotPrivate))
      bill.remarks.push_back(fmt::format("{}: {}", name, ledger.header.randomness));
    if (!fs::exists(Path(name) / kCertificateName)) continue;
    const CertificateTerms terms = read_terms(name);
    bill.delta = std::max(bill.delta.value_or(terms.delta), terms.delta);
    bill.group_size = std::max(bill.group_size, terms.accounting.group_size);
    if (names.size() == 1 && terms.published) {
      bill.published = terms.published;
      bill.released = released_in(ledger);
    }
  }
  std::stable_sort(
      bill.stages.begin(), bill.stages.end(),
      [](const Stage& first, const Stage& second) { return first.time < second.time; });
  return bill;
}

Bill bill_of(const AccountArguments& arguments, const Accounting& how) {
  const bool by_numbers = arguments.sampling_rate || arguments.noise_multiplier || arguments.steps;
  if (arguments.what.empty()) {
    const Event event = event_of(arguments);
    check(event);
    return {.title = "", .items = {{"", event}}};
  }
  if (by_numbers || !arguments.sampling.empty() || arguments.releases_per_step)
    throw InvalidArgument(
        "--sampling, --sampling-rate, --noise-multiplier, --steps and --releases-per-step must not "
        "be given with a recipe or a run: those have their own");
  if (fs::is_directory(arguments.what.front()) || arguments.what.size() > 1)
    return bill_of_runs(arguments.what);
  return bill_of_recipe(arguments.what.front(), arguments, how);
}

std::vector<Event> events_of(const Bill& bill) { return privacy::events_of(bill.items); }

struct RunCost {
  std::string run;
  double epsilon;
};

struct Totals {
  Guarantee guarantee;  // whoever chose what
  double if_fixed;      // epsilon where everything was chosen before the first release
};

Totals totals_of(const Bill& bill, Delta delta, const Accounting& how) {
  const Guarantee together = account(events_of(bill), delta, how);
  if (bill.stages.size() <= 1) return {.guarantee = together, .if_fixed = together.epsilon};
  return {.guarantee = account_stages(bill.stages, delta, how).total, .if_fixed = together.epsilon};
}

// What each would cost, were the others never released.
std::vector<RunCost> costs_alone(const Bill& bill, Delta delta, const Accounting& how) {
  std::vector<RunCost> costs;
  for (const std::string& run : bill.runs)
    costs.push_back(
        {run, account_stages(stages_of(read_ledger(Path(run) / kLedgerName)), delta, how)
                  .total.epsilon});
  return costs;
}

ordered_json curve_at(const std::string& orders, const std::vector<Event>& events) {
  ordered_json curve = ordered_json::object();
  if (orders.empty()) return curve;
  RdpAccountant accountant;
  for (const Event& event : events) accountant.compose(event);
  for (const std::string& text : split(orders, ',')) {
    const std::optional<double> order = parse_number(trim(text));
    if (!order) throw InvalidArgument(violation("--orders", "numbers separated by commas", text));
    curve[std::string(trim(text))] = accountant.rdp(*order);
  }
  return curve;
}

// Epsilon when a share of everything has been released.
void draw(const std::string& path, const Bill& bill,
          const std::optional<PublishedEpsilon>& published, Delta delta, const Accounting& how) {
  constexpr int kPoints = 40;
  std::int64_t most = 1;
  for (const PlannedEvent& item : bill.items) most = std::max(most, count_of(item.event));
  Plot plot{.title = fmt::format("Privacy spent at delta {}", rounded_up(delta.value())),
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
    std::vector<Event> events;
    for (const Event& event : events_of(bill))
      events.push_back(with_count(event, part(count_of(event))));
    const double x = static_cast<double>(part(std::max(most, bill.steps)));
    plot.lines[0].points.emplace_back(x, account(events, delta, how).epsilon);
    if (published)
      plot.lines[1].points.emplace_back(
          x, account_as_published(published->count, part(published->releases), delta).epsilon);
  }
  write_file(path, plot_svg(plot));
  log_line(LogLevel::kInfo, fmt::format("wrote {}", path));
}

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

void print_releases(const Bill& bill, const std::vector<RunCost>& alone) {
  std::size_t width = 16;
  for (const RunCost& cost : alone) width = std::max(width, cost.run.size());
  for (const RunCost& cost : alone)
    std::cout << fmt::format("  {:<{}}  epsilon {} alone\n", printable(cost.run), width,
                             rounded_up(cost.epsilon));
  if (!alone.empty()) return;
  for (const PlannedEvent& item : bill.items)
    if (!item.purpose.empty())
      std::cout << fmt::format("  {:<16} {}\n", printable(item.purpose), describe(item.event));
}

void print(const Bill& bill, const Totals& totals, const std::vector<RunCost>& alone,
           const std::optional<PublishedEpsilon>& published, const ordered_json& curve) {
  const Guarantee& guarantee = totals.guarantee;
  if (!bill.title.empty()) std::cout << printable(bill.title) << "\n\n";
  print_releases(bill, alone);
  for (const std::string& remark : bill.remarks)
    std::cout << fmt::format("  {}\n", printable(remark));
  if (!bill.title.empty()) std::cout << '\n';
  if (!alone.empty()) {
    const std::string total = fmt::format(
        "Together these {} runs have epsilon {} at delta {}, also where each was chosen by "
        "looking at what earlier ones had released. If all of them were fixed before the first "
        "release, as those of one sweep are, it is epsilon {}. They are taken to be on the same "
        "data.",
        alone.size(), rounded_up(guarantee.epsilon), rounded_up(guarantee.delta),
        rounded_up(totals.if_fixed));
    std::cout << wrapped(total, 100) << "\n\n";
  }
  std::cout << fmt::format("guarantee        epsilon {} at delta {}\n",
                           rounded_up(guarantee.epsilon), rounded_up(guarantee.delta));
  std::cout << fmt::format("accountant       {}\n",
                           guarantee.order ? fmt::format("rdp, best order {:.4g}", *guarantee.order)
                                           : fmt::format("pld, certified between {} and {}",
                                                         rounded_down(guarantee.epsilon_lower),
                                                         rounded_up(guarantee.epsilon)));
  std::cout << fmt::format("neighbours       {}: {}\n", name_of(guarantee.neighbours),
                           in_words(guarantee.neighbours));
  if (guarantee.group_size > 1)
    std::cout << fmt::format("groups           of up to {} records\n", guarantee.group_size);
  if (bill.budget)
    std::cout << fmt::format("budget           epsilon {}: {}\n", *bill.budget,
                             guarantee.epsilon <= *bill.budget ? "kept" : "exceeded");
  for (const auto& [order, value] : curve.items())
    std::cout << fmt::format("rdp at {:<9} {}\n", order, rounded_up(value.get<double>(), 12));
  if (published)
    std::cout << fmt::format("as published     epsilon {}\n\n{}\n", rounded_up(published->epsilon),
                             wrapped(privacy::in_words(*published, guarantee.epsilon), 100));
}

ordered_json to_json(const Bill& bill, const Totals& totals, const std::vector<RunCost>& alone,
                     const std::optional<PublishedEpsilon>& published, const ordered_json& curve,
                     double seconds) {
  const Guarantee& guarantee = totals.guarantee;
  ordered_json value;
  value["epsilon"] = guarantee.epsilon;
  value["epsilon_if_fixed"] = totals.if_fixed;
  value["epsilon_lower"] = guarantee.accountant == AccountantKind::kPld
                               ? ordered_json(guarantee.epsilon_lower)
                               : ordered_json(nullptr);
  value["delta"] = guarantee.delta;
  value["accountant"] = name_of(guarantee.accountant);
  value["order"] = guarantee.order ? ordered_json(*guarantee.order) : ordered_json(nullptr);
  value["neighbours"] = name_of(guarantee.neighbours);
  value["group_size"] = guarantee.group_size;
  value["rdp"] = curve;
  value["as_published"] = nullptr;
  if (published)
    value["as_published"] = {{"epsilon", published->epsilon},
                             {"paper", published->count.paper},
                             {"left_out", published->left_out},
                             {"is_a_guarantee", published->is_a_guarantee()}};
  value["budget"] = bill.budget ? ordered_json(*bill.budget) : ordered_json(nullptr);
  value["runs"] = ordered_json::array();
  for (const RunCost& cost : alone)
    value["runs"].push_back({{"run", cost.run}, {"epsilon", cost.epsilon}});
  value["events"] = ordered_json::array();
  for (const PlannedEvent& item : bill.items)
    value["events"].push_back(
        {{"purpose", item.purpose}, {"event", ordered_json::parse(json_of(item.event))}});
  value["seconds"] = seconds;
  return value;
}

// Where nothing is released, nobody needs to be told.
class Unheard final : public DisclosureLog {
 public:
  void record(std::string_view /*reason*/) override {}
};

struct UseCost {
  privacy::Use use;
  double epsilon;
};

void print_uses(const std::vector<UseCost>& costs, const std::vector<privacy::UseTotal>& totals) {
  std::size_t width = 3;
  for (const UseCost& cost : costs) width = std::max(width, cost.use.folder.string().size());
  for (const UseCost& cost : costs)
    std::cout << fmt::format(
        "  {:<{}}  {}  epsilon {} at delta {} ({}){}\n", cost.use.folder.string(), width,
        cost.use.time, rounded_up(cost.epsilon), rounded_up(cost.use.delta),
        name_of(cost.use.neighbours), fs::exists(cost.use.folder) ? "" : ", removed");
  for (const privacy::UseTotal& total : totals)
    std::cout << fmt::format("\ntotal            epsilon {} at delta {} ({}), {} {}\n",
                             rounded_up(total.epsilon), rounded_up(total.delta),
                             name_of(total.neighbours), total.runs,
                             total.runs == 1 ? "use" : "uses");
  if (costs.empty()) std::cout << "these data were not used on this machine before\n";
}

ordered_json json_of_uses(const std::vector<UseCost>& costs,
                          const std::vector<privacy::UseTotal>& totals) {
  ordered_json value = {{"uses", ordered_json::array()}, {"totals", ordered_json::array()}};
  for (const UseCost& cost : costs)
    value["uses"].push_back({{"folder", cost.use.folder.string()},
                             {"time", cost.use.time},
                             {"epsilon", cost.epsilon},
                             {"delta", cost.use.delta},
                             {"neighbours", name_of(cost.use.neighbours)},
                             {"exists", fs::exists(cost.use.folder)}});
  for (const privacy::UseTotal& total : totals)
    value["totals"].push_back({{"neighbours", name_of(total.neighbours)},
                               {"uses", total.runs},
                               {"epsilon", total.epsilon},
                               {"delta", total.delta}});
  return value;
}

// What a data set has cost on this machine.
ExitCode account_data(const AccountArguments& arguments) {
  if (!arguments.what.empty() || arguments.steps || arguments.noise_multiplier)
    throw InvalidArgument("--data must be given alone, but is with something else to account for");
  const std::optional<privacy::Registry> registry = privacy::Registry::open();
  if (!registry) throw DataError("what data have cost must be kept on this machine, but is not");
  const Private<data::Dataset> records(data::read(arguments.data));
  Unheard log;
  std::vector<UseCost> costs;
  const std::vector<privacy::Use> uses =
      registry->uses(data::pixel_fingerprint(records, registry->key(), log));
  for (const privacy::Use& use : uses)
    costs.push_back({use, privacy::sum_of(privacy::costs_of(use.stages, Delta{use.delta}))});
  const std::vector<privacy::UseTotal> totals = privacy::totals(uses);
  if (arguments.as_json)
    std::cout << json_of_uses(costs, totals).dump() << '\n';
  else
    print_uses(costs, totals);
  return ExitCode::kOk;
}

ExitCode run_account(const AccountArguments& arguments) {
  if (!arguments.data.empty()) return account_data(arguments);
  const auto start = std::chrono::steady_clock::now();
  Accounting how{
      .kind = arguments.accountant.empty() ? AccountantKind::kTightest
                                           : accountant_from(arguments.accountant),
      .conversion = arguments.conversion == "classic" ? Conversion::kClassic : Conversion::kTight};
  // The conversion is one of Renyi divergences.
  if (arguments.conversion == "classic" && arguments.accountant == "pld")
    throw InvalidArgument(
        "--conversion classic must not be given with --accountant pld: it converts "
        "Renyi divergences");
  if (arguments.conversion == "classic" && arguments.accountant.empty())
    how.kind = AccountantKind::kRdp;
  const std::int64_t group = arguments.group_size.value_or(1);
  if (group < 1 || group > 10000)
    throw InvalidArgument(violation("--group-size", "from 1 to 10000", group));
  how.group_size = static_cast<int>(group);
  const Bill bill = bill_of(arguments, how);
  if (!arguments.group_size) how.group_size = bill.group_size;
  const Delta delta =
      arguments.delta || !bill.delta ? Delta{needed(arguments.delta, "--delta")} : *bill.delta;
  Totals totals = totals_of(bill, delta, how);
  Guarantee& guarantee = totals.guarantee;
  guarantee.neighbours = common_neighbours(bill.neighbours, guarantee.neighbours);
  if (guarantee.neighbours == Neighbours::kAsStated) guarantee.neighbours = Neighbours::kAddRemove;
  std::optional<PublishedEpsilon> published;
  if (bill.published && how.group_size == 1)
    published = account_as_published(*bill.published, bill.released, delta);
  const std::vector<RunCost> alone = costs_alone(bill, delta, how);
  const ordered_json curve = curve_at(arguments.orders, events_of(bill));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (arguments.as_json)
    std::cout << to_json(bill, totals, alone, published, curve, seconds.count()).dump() << '\n';
  else
    print(bill, totals, alone, published, curve);
  if (!arguments.plot.empty()) draw(arguments.plot, bill, published, delta, how);
  return ExitCode::kOk;
}

}  // namespace

void add_account(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "account", "the price of a recipe before paying, of runs as planned, or of numbers");
  auto arguments = std::make_shared<AccountArguments>();
  command->add_option("what", arguments->what,
                      "a recipe, or runs on the same data, or folders of them");
  command->add_option("--data", arguments->data,
                      "what these private data have cost on this machine, in all runs");
  add_number(*command, "--sampling-rate", arguments->sampling_rate,
             "probability of a record to take part in a step");
  add_number(*command, "--noise-multiplier", arguments->noise_multiplier,
             "standard deviation of the noise over the sensitivity");
  add_whole(*command, "--steps", arguments->steps, "how often");
  add_number(*command, "--delta", arguments->delta, "the probability that is given away");
  command->add_option("--sampling", arguments->sampling, "how records are drawn (poisson)")
      ->check(CLI::IsMember({"poisson", "without-replacement", "shard", "none"}));
  add_whole(*command, "--releases-per-step", arguments->releases_per_step,
            "outputs of one subsample, each with the noise (1)");
  add_whole(*command, "--group-size", arguments->group_size,
            "records that one person may have given (1)");
  command->add_option("--accountant", arguments->accountant, "pld (tight) or rdp")
      ->check(CLI::IsMember({"pld", "rdp"}));
  command
      ->add_option("--conversion", arguments->conversion, "of rdp: tight, or classic as in papers")
      ->check(CLI::IsMember({"tight", "classic"}));
  command->add_option("--orders", arguments->orders, "also show the Renyi curve there: 1.25,2,8");
  command->add_option("--plot", arguments->plot, "draw epsilon over steps into an SVG file");
  command->add_option("--set", arguments->overrides, "section.key=value, with a recipe")
      ->allow_extra_args(false);
  command->add_flag("--json", arguments->as_json, "for programs");
  command->callback(
      [&action, arguments] { action = [arguments] { return run_account(*arguments); }; });
}

}  // namespace obol::cli
