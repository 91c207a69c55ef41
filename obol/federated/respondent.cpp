#include "obol/federated/respondent.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"
#include "obol/method/gs_wgan/method.h"
#include "obol/privacy/certificate.h"
#include "obol/privacy/turns.h"
#include "obol/run/folder.h"

namespace obol::federated {
namespace {

using torch::Tensor;

constexpr std::int64_t kOnly = 0;  // the critic's number
// Answers between the critic's files: a killed client goes back to the last, and has paid for all.
constexpr std::int64_t kSaveEvery = 20;

void agree(const Terms& terms, const RespondentOptions& options) {
  const auto event = std::get<privacy::Gaussian>(terms.per_answer());
  if (event.noise_multiplier < options.least_noise)
    throw InvalidArgument(
        violation("the noise multiplier of an answer",
                  fmt::format("at least {}, as this client wants", options.least_noise),
                  fmt::format("{} in the server's terms", event.noise_multiplier)));
}

// Compares the terms with what this client declares, and with nothing that its records hold: who
// joins tells the server no more than that. Labels are numbers to the server, and a client that
// declares fewer classes has the others without records.
Private<data::Dataset> fitted(const Private<data::Dataset>& data, const Form& form) {
  const data::Dataset::PublicFacts facts = data.facts();
  if (facts.shape != form.shape)
    throw InvalidArgument(
        violation("the images", fmt::format("{}, as in the server's terms", to_string(form.shape)),
                  to_string(facts.shape)));
  if (facts.num_classes > form.classes || (facts.num_classes < 2 && form.classes > 1))
    throw InvalidArgument(violation("the number of declared classes",
                                    fmt::format("{}, as in the server's terms", form.classes),
                                    facts.num_classes));
  return data.map([&](const data::Dataset& own) {
    data::Dataset all = own;
    while (all.num_classes() > 0 && all.num_classes() < form.classes)
      all.class_names.push_back(std::to_string(all.num_classes()));
    return all;
  });
}

method::Place take_place(const Terms& terms, const Private<data::Dataset>& data,
                         const RespondentOptions& options) {
  agree(terms, options);
  return method::take_place({.folder = options.folder,
                             .resume = run::RunFolder::is_run(options.folder),
                             .recipe = terms.text,
                             .seed = options.seed,
                             .neighbours = privacy::Neighbours::kReplaceOne},
                            fitted(data, terms.form));
}

// What is within the budget of the answers that may be wanted. BudgetExceeded where not one is.
void plan_answers(const Terms& terms, const RespondentOptions& options, privacy::Ledger& ledger,
                  privacy::BudgetGuard& guard) {
  if (ledger.record().is_planned() || !ledger.spent().empty()) return;
  const std::int64_t wanted =
      options.answers.value_or(privacy::most_uses(terms.schedule, terms.clients, terms.steps));
  if (wanted < 1) throw InvalidArgument(violation("the number of answers", "at least 1", wanted));
  const privacy::Event one = terms.per_answer();
  const std::int64_t planned = std::min(wanted, guard.affordable(one));
  if (planned == 0)
    throw BudgetExceeded(fmt::format("epsilon must be enough for one answer, but {} is not",
                                     options.budget.epsilon.value()));
  guard.plan({{barrier::kTraining, privacy::with_count(one, planned)}});
}

method::gs_wgan::Question tensors_of(const Question& question, const Form& form,
                                     const torch::Device& device) {
  const data::ImageShape& shape = form.shape;
  return {.images = torch::tensor(question.images)
                        .view({form.steps, form.rows, shape.channels, shape.height, shape.width})
                        .to(device),
          .labels = torch::tensor(question.labels).view({form.steps, form.rows}).to(device)};
}

}  // namespace

Respondent::Respondent(const Terms& terms, const Private<data::Dataset>& data,
                       const RespondentOptions& options)
    : terms_(terms),
      options_(options),
      place_(take_place(terms, data, options)),
      critic_({.shape = terms.form.shape,
               .classes = terms.form.classes,
               .width = terms.method.critic_width}),
      holder_(critic_, method::gs_wgan::training_of(terms.method), fitted(data, terms.form),
              options.device, method::lowest_of(terms.generator), *place_.bits),
      bank_({.folder = place_.folder.make_private() / "critics",
             .numbers = critic_.state_size(),
             .device = options.device}),
      guard_(method::guard_of(place_, options.budget, options.budget.delta, 1)),
      answers_(place_.ledger->record().paid(barrier::kTraining, terms.per_answer())),
      barrier_({.clip_norm = terms.method.clip_norm, .noise_multiplier = terms.noise_multiplier},
               terms.barrier == method::Barrier::kRow ? barrier::ShardBarrier::Clip::kRows
                                                      : barrier::ShardBarrier::Clip::kWhole,
               terms.form.rows, answers_) {
  plan_answers(terms, options, *place_.ledger, guard_);
  place_.registration->update(place_.ledger->record(), options.budget.delta);
  place_.folder.remove_results();  // of a ledger that is going to grow
}

bool Respondent::warm_start() {
  if (bank_.has(kOnly)) return true;
  const method::gs_wgan::WarmStart how{.steps = terms_.method.warm_start,
                                       .critic_steps = terms_.form.steps,
                                       .batch = terms_.form.rows,
                                       .generator = terms_.generator,
                                       .optimizer = terms_.optimizer};
  Progress progress("warming up the critic", how.steps, "steps");
  const auto state = holder_.warm_start(how, [&] {
    progress.advance(1);
    return interrupted();
  });
  if (!state) return false;
  bank_.put(kOnly, *state);
  return true;
}

wire::Answer Respondent::answer(const wire::Question& message) {
  const method::gs_wgan::Question question =
      tensors_of(read_question(message, terms_.form), terms_.form, options_.device);
  barrier::Door door(guard_, *place_.bits);
  barrier_.pay(door, answers_ + 1);
  ++answers_;
  const Tensor released =
      barrier_.release(door, holder_.answer(bank_.take(kOnly), question), answers_)
          .cpu()
          .contiguous();
  if (answers_ % kSaveEvery == 0) bank_.flush();
  return write_answer(message.number(),
                      {released.data_ptr<float>(), static_cast<std::size_t>(released.numel())});
}

void Respondent::save() {
  bank_.flush();
  privacy::write_certificate(options_.folder, {.delta = options_.budget.delta});
  place_.registration->update(place_.ledger->record(), options_.budget.delta);
}

std::int64_t Respondent::affordable() { return guard_.affordable(terms_.per_answer()); }

double Respondent::epsilon() const {
  return privacy::certify(place_.ledger->record(), {.delta = options_.budget.delta})
      .guarantee.epsilon;
}

}  // namespace obol::federated
