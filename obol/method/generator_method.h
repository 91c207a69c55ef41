// A method that trains a generator: what every such method does for the training loop around its
// step.
//
//   class DpMerf final : public GeneratorMethod {
//    public:
//     DpMerf(const Options& options, const Private<data::Dataset>& data, const MethodContext&
//     context)
//         : GeneratorMethod({options.generator, options.optimizer}, shape, classes, context) {}
//     void step(std::int64_t step, run::UnsafeDiagnostics& diagnostics) override;
//   };
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "obol/data/dataset.h"
#include "obol/method/context.h"
#include "obol/method/trainee.h"
#include "obol/model/generator.h"
#include "obol/run/loop.h"

namespace obol::method {

class GeneratorMethod : public run::Method {
 public:
  run::Sections save() final;
  void load(const run::Sections& sections) final;
  std::optional<run::Samples> samples() final { return trainee_.samples(context_.bits); }
  std::string generator() final;

  // The network that is released, as it is now, in evaluation mode.
  std::shared_ptr<model::Generator> released() { return trainee_.released(context_.bits); }

 protected:
  GeneratorMethod(const TraineeOptions& options, const data::ImageShape& shape,
                  std::int64_t num_classes, const MethodContext& context);

  [[nodiscard]] Trainee& trainee() noexcept { return trainee_; }
  [[nodiscard]] const Trainee& trainee() const noexcept { return trainee_; }
  [[nodiscard]] const MethodContext& context() const noexcept { return context_; }

  // What the next step depends on besides the generator and its optimiser, and back: the generator
  // is loaded before.
  virtual void save_more(run::Sections& /*sections*/) {}
  virtual void load_more(const run::Sections& /*sections*/) {}

 private:
  MethodContext context_;
  Trainee trainee_;
};

}  // namespace obol::method
