#include "obol/federated/server.h"

#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"
#include "obol/method/gs_wgan/entry.h"
#include "obol/method/gs_wgan/holder.h"
#include "obol/method/place.h"
#include "obol/model/generator_file.h"
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

Server::Server(const Terms& terms, const ServerSurroundings& surroundings)
    : terms_(terms),
      surroundings_(surroundings),
      trainee_({terms.generator, terms.optimizer, terms.method.average}, terms.form.shape,
               terms.form.classes, surroundings.device),
      turns_({.schedule = terms.schedule, .shards = terms.clients}, surroundings.turns) {
  Record record = read_record(surroundings.record, terms);
  names_ = std::move(record.names);
  before_ = std::move(record.counts);
}

void Server::gather() {
  log_info("waiting for {} clients", terms_.clients);
  names_ = surroundings_.table.gather();
  before_.resize(names_.size());
  write_record();
}

void Server::step(std::int64_t step, run::UnsafeDiagnostics& /*diagnostics*/) {
  const double rate = trainee_.begin(step, terms_.steps);
  const method::gs_wgan::Asked asked = method::gs_wgan::ask(
      trainee_, terms_.form.classes, terms_.form.steps, terms_.form.rows, surroundings_.bits);
  const Tensor answer = answer_to(message_of(asked.question)).to(trainee_.device());
  asked.last.backward(answer / static_cast<double>(terms_.form.rows));
  trainee_.finish();
  Counts all;
  for (std::size_t k = 0; k < names_.size(); ++k)
    all = sum_of(all, sum_of(before_[k], surroundings_.table.counts(names_[k])));
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
    Reply reply = surroundings_.table.ask(names_[shard], question, surroundings_.deadline);
    if (reply.kind == Reply::kAnswered)
      return torch::tensor(reply.gradient)
          .view({terms_.form.rows, terms_.form.shape.channels, terms_.form.shape.height,
                 terms_.form.shape.width});
    if (asked % terms_.clients == 0) surroundings_.table.wait_for_anyone();
  }
}

void Server::write_record() const {
  nlohmann::ordered_json clients = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < names_.size(); ++k) {
    const Counts counts = sum_of(before_[k], surroundings_.table.counts(names_[k]));
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
  write_file(surroundings_.record,
             record.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
}

run::Sections Server::save() {
  turns_.settle();
  write_record();
  run::Sections sections;
  trainee_.save(sections);
  return sections;
}

void Server::load(const run::Sections& sections) {
  trainee_.load(sections);
  gather();  // those whom the record has; whoever is not back yet is waited for by the first step
}

std::string Server::generator() {
  return model::generator_bytes(*trainee_.released(surroundings_.bits));
}

run::Outcome serve(const ServeOptions& options) {
  auto recipe = recipe::Recipe::load(options.recipe, options.overrides);
  const auto experiment = method::read_experiment(recipe, method::gs_wgan::Entry::info());
  const Terms terms = read_terms(propose(options.recipe, options.overrides, options.images));
  const run::RunFolder folder =
      options.resume ? run::RunFolder::resume(options.folder, experiment.resolved)
                     : run::RunFolder::create(options.folder, experiment.resolved, std::nullopt);
  const Path record = folder.path() / kRecordName;
  const Path turns = folder.path() / "turns.json";
  Table table({.listen = options.listen,
               .identity = options.identity,
               .terms = terms,
               .names = read_record(record, terms).names});
  // As where the shards are all here, so that the same seeds give the same generator.
  const std::int64_t given =
      privacy::Turns({.schedule = terms.schedule, .shards = terms.clients}, turns).given();
  const std::unique_ptr<RandomBits> bits = method::make_bits(experiment.method.seed, 1 + given);
  torch::manual_seed(experiment.method.seed ? static_cast<std::uint64_t>(*experiment.method.seed)
                                            : (*bits)());
  Server server(terms, {.table = table,
                        .bits = *bits,
                        .turns = turns,
                        .record = record,
                        .deadline = options.deadline,
                        .device = options.device});
  log_info("listening at port {}", table.port());
  options.on_listening(table.port());
  run::Steps steps = experiment.steps;
  steps.total = terms.steps;
  const run::Outcome outcome = run::train(server, folder, steps, nullptr);
  if (outcome.ending != run::Ending::kInterrupted) table.finish();
  return outcome;
}

}  // namespace obol::federated
