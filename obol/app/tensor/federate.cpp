#include "obol/app/federate.h"

#include "obol/app/tensor/device.h"
#include "obol/data/reader.h"
#include "obol/federated/client.h"
#include "obol/federated/server.h"

namespace obol::app {
namespace {

federated::Identity identity_of(const IdentityFiles& files) {
  return {.ca = files.ca, .certificate = files.certificate, .key = files.key};
}

}  // namespace

run::Outcome serve_federation(const ServeRequest& request) {
  const ReporterScope scope(request.reporter);
  return federated::serve({.recipe = request.recipe,
                           .overrides = request.overrides,
                           .images = {.shape = request.shape, .classes = request.classes},
                           .folder = request.out,
                           .resume = request.resume,
                           .listen = request.listen,
                           .identity = identity_of(request.identity),
                           .deadline = request.deadline,
                           .device = use_device(request.device, request.threads)});
}

JoinAnswer join_federation(const JoinRequest& request) {
  const ReporterScope scope(request.reporter);
  using federated::Ending;
  const torch::Device device = use_device(request.device, request.threads);
  // Whatever the labels and pictures are, the client answers alike.
  const Private<data::Dataset> data = data::read_private(
      request.data, {.declared = data::parse_declaration(request.declared, "the options"),
                     .outside = data::Outside::kMap});
  const federated::Joined joined =
      federated::join({.connection = {.server = request.server,
                                      .identity = identity_of(request.identity),
                                      .patience = request.patience},
                       .respondent = {.folder = request.out,
                                      .budget = {Epsilon{request.epsilon}, Delta{request.delta}},
                                      .answers = request.answers,
                                      .least_noise = request.least_noise,
                                      .device = device}},
                      data);
  JoinAnswer answer{.ending = "the training is over after",
                    .is_interrupted = joined.ending == Ending::kInterrupted,
                    .answers = joined.answers,
                    .epsilon = joined.epsilon};
  if (joined.ending == Ending::kBudget) answer.ending = "what was planned is used up by";
  if (answer.is_interrupted) answer.ending = "interrupted (the same command goes on) after";
  return answer;
}

}  // namespace obol::app
