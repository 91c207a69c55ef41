#include "obol/federated/client.h"

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/privacy/event.h"

namespace obol::federated {

Joined join(const JoinOptions& options, const Private<data::Dataset>& data) {
  const Terms terms = ask_terms(options.connection);
  Respondent respondent(terms, data, options.respondent);
  log_info("an answer is {}; the budget allows {} more", privacy::describe(terms.per_answer()),
           respondent.affordable());
  const auto take_part = [&] {
    if (!respondent.warm_start()) return Ending::kInterrupted;
    return answer_questions(options.connection, terms, [&](const wire::Question& question) {
      return respondent.answer(question);
    });
  };
  try {
    const Ending ending = take_part();
    respondent.save();
    return {.ending = ending, .answers = respondent.answers(), .epsilon = respondent.epsilon()};
  } catch (const NetworkError&) {
    respondent.save();
    throw;
  }
}

}  // namespace obol::federated
