#include "obol/federated/server.h"

#include <filesystem>
#include <memory>
#include <utility>

#include <nlohmann/json.hpp>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/method/fit.h"
#include "obol/method/gs_wgan/ask.h"
#include "obol/method/gs_wgan/entry.h"
#include "obol/run/folder.h"

namespace obol::federated {
namespace {

using torch::Tensor;

constexpr const char* kRecordName = "federated.json";
constexpr const char* kStatement =
    "The server has seen no data, and certifies nothing: what the answers of a client cost is in "
    "that client's own certificate, which holds for this generator as well.";

wire::Question message_of(const method::gs_wgan::Question& question) {
  const Tensor images = question.images.cpu().to(torch::kFloat).contiguous();
  const Tensor labels = question.labels.cpu().contiguous();
  return write_question(
      {images.data_ptr<float>(), static_cast<std::size_t>(images.numel())},
      {labels.data_ptr<std::int64_t>(), static_cast<std::size_t>(labels.numel())});
}

// Who took part, and what they did, as an earlier process wrote it.
struct Record {
  std::vector<std::string> names;
  std::vector<Counts> counts;
};

Record read_record(const Path& path, const Terms& terms) {
  constexpr std::uint64_t kLargest = std::uint64_t{16} << 20;
  Record record;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return record;
  try {
    const auto json = nlohmann::json::parse(read_text(path, kLargest));
    if (json.at("terms") != terms.hash)
      throw InvalidArgument(
          violation("the terms", "those that the run was started with", "others", path.string()));
    for (const auto& client : json.at("clients")) {
      record.names.push_back(client.at("name"));
      record.counts.push_back({.answers = client.at("answers"),
                               .rejected = client.at("rejected"),
                               .timeouts = client.at("timeouts"),
                               .late = client.at("late")});
    }
  } catch (const nlohmann::json::exception&) {
    throw DataError(violation(path.string(), "the record of a federated run", "something else"));
  }
  return record;
}

Counts sum_of(const Counts& a, const Counts& b) {
  return {.answers = a.answers + b.answers,
          .rejected = a.rejected + b.rejected,
          .timeouts = a.timeouts + b.timeouts,
          .late = a.late + b.late};
}

}  // namespace

Server::Server(const Terms& terms, Table& table, ServerFiles files, double deadline,
               const method::MethodContext& context)
    : GeneratorMethod({terms.generator, terms.optimizer, terms.method.average}, terms.form.shape,
                      terms.form.classes, context),
      terms_(terms),
      table_(table),
      files_(std::move(files)),
      deadline_(deadline),
      turns_({.schedule = terms.schedule, .shards = terms.clients}, files_.turns) {
  Record record = read_record(files_.record, terms);
  names_ = std::move(record.names);
  before_ = std::move(record.counts);
}

void Server::gather() {
  log_info("waiting for {} clients", terms_.clients);
  names_ = table_.gather();
  before_.resize(names_.size());
  write_record();
}

void Server::step(std::int64_t step, run::UnsafeDiagnostics& /*diagnostics*/) {
  const double rate = trainee().begin(step, terms_.steps);
  const method::gs_wgan::Asked asked = method::gs_wgan::ask(
      trainee(), terms_.form.classes, terms_.form.steps, terms_.form.rows, context().bits);
  const Tensor answer = answer_to(message_of(asked.question)).to(trainee().device());
  asked.last.backward(answer / static_cast<double>(terms_.form.rows));
  trainee().finish();
  Counts all;
  for (std::size_t k = 0; k < names_.size(); ++k)
    all = sum_of(all, sum_of(before_[k], table_.counts(names_[k])));
  const auto counted = [](std::int64_t count) {
    return run::Public(static_cast<double>(count), run::Origin::kReleased);
  };
  metrics_ = {{"learning_rate", run::Public(rate, run::Origin::kSyntheticOnly)},
              {"gradient_norm", run::Public(answer.norm().item<double>(), run::Origin::kReleased)},
              {"answers", counted(all.answers)},
              {"rejected", counted(all.rejected)},
              {"timeouts", counted(all.timeouts)},
              {"late", counted(all.late)}};
}

Tensor Server::answer_to(const wire::Question& question) {
  for (std::int64_t asked = 1;; ++asked) {
    const auto shard = static_cast<std::size_t>(turns_.next().shard);
    Reply reply = table_.ask(names_[shard], question, deadline_);
    if (reply.kind == Reply::kAnswered)
      return torch::tensor(reply.gradient)
          .view({terms_.form.rows, terms_.form.shape.channels, terms_.form.shape.height,
                 terms_.form.shape.width});
    if (asked % terms_.clients == 0) table_.wait_for_anyone();
  }
}

void Server::write_record() const {
  nlohmann::ordered_json clients = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < names_.size(); ++k) {
    const Counts counts = sum_of(before_[k], table_.counts(names_[k]));
    clients.push_back({{"name", names_[k]},
                       {"answers", counts.answers},
                       {"rejected", counts.rejected},
                       {"timeouts", counts.timeouts},
                       {"late", counts.late}});
  }
  const nlohmann::ordered_json record = {{"protocol", kProtocol},
                                         {"terms", terms_.hash},
                                         {"guarantee", kStatement},
                                         {"clients", clients}};
  write_file(files_.record,
             record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

void Server::save_more(run::Sections& /*sections*/) {
  turns_.settle();
  write_record();
}

void Server::load_more(const run::Sections& /*sections*/) {
  gather();  // those whom the record has; whoever is not back yet is waited for by the first step
}

run::Outcome serve(const ServeOptions& options) {
  auto recipe = recipe::Recipe::load(options.recipe, options.overrides);
  const auto experiment = method::read_experiment(recipe, method::gs_wgan::Entry::info());
  const Terms terms = read_terms(propose(options.recipe, options.overrides, options.images));
  method::OpenRun open{
      .place = {.folder = options.resume
                              ? run::RunFolder::resume(options.folder, experiment.resolved)
                              : run::RunFolder::create(options.folder, experiment.resolved,
                                                       std::nullopt)},
      .terms = std::nullopt};
  const Path& folder = open.place.folder.path();
  const ServerFiles files{.turns = folder / "turns.json", .record = folder / kRecordName};
  Table table({.listen = options.listen,
               .identity = options.identity,
               .terms = terms,
               .names = read_record(files.record, terms).names});
  // As where the shards are all here, so that the same seeds give the same generator.
  const std::int64_t given =
      privacy::Turns({.schedule = terms.schedule, .shards = terms.clients}, files.turns).given();
  open.place.bits = method::make_bits(experiment.method.seed, 1 + given);
  const auto make = [&](const method::MethodContext& context) -> std::unique_ptr<run::Method> {
    auto server = std::make_unique<Server>(terms, table, files, options.deadline, context);
    log_info("listening at port {}", table.port());
    options.on_listening(table.port());
    return server;
  };
  const run::Outcome outcome =
      method::fit(experiment, open, {.folder = options.folder, .device = options.device},
                  {.steps = terms.steps, .make = make});
  if (outcome.ending != run::Ending::kInterrupted) table.finish();
  return outcome;
}

}  // namespace obol::federated
