#include "obol/method/gs_wgan/workshop.h"

#include "obol/method/gs_wgan/ask.h"

namespace obol::method::gs_wgan {

using torch::Tensor;

Workshop::Workshop(const WarmStart& how, const Holder& like, const Size& size, RandomBits& bits)
    : how_(how),
      classes_(classes_of(like.facts())),
      device_(like.device()),
      bits_(bits),
      branches_(device_, size.desks),
      step_(device_) {
  for (std::size_t k = 0; k < size.desks; ++k)
    pairs_.push_back(std::make_unique<Pair>(how, like, size.most_records));
}

Workshop::Pair::Pair(const WarmStart& how, const Holder& like, std::int64_t most_records)
    : trainee({how.generator, how.optimizer}, like.facts().shape, like.facts().num_classes,
              like.device()),
      desk(like, most_records) {}

std::optional<std::vector<Private<CriticState>>> Workshop::warm_start(
    const std::vector<Holder*>& holders, const std::function<bool()>& stop) {
  std::vector<Private<CriticState>> states;
  for (std::size_t k = 0; k < holders.size(); ++k) {
    states.push_back(holders[k]->initial());
    pairs_[k]->desk.seat(*holders[k], states.back());
  }
  for (const auto& pair : pairs_) pair->trainee.restart();
  // Replays take no time of the host: it would be done with all of them before the first is.
  constexpr std::int64_t kAhead = 20;
  for (std::int64_t step = 1; step <= how_.steps; ++step) {
    for (const auto& pair : pairs_) pair->trainee.begin(step, how_.steps);
    step_.run([&] { branches_.run([&](std::size_t k) { advance(*pairs_[k]); }); });
    if (device_.is_cuda() && step % kAhead == 0) torch::cuda::synchronize();
    if (stop()) return std::nullopt;
  }
  for (std::size_t k = 0; k < holders.size(); ++k) pairs_[k]->desk.copy_to(states[k]);
  return states;
}

void Workshop::advance(Pair& pair) {
  const Asked asked = ask(pair.trainee, classes_, how_.critic_steps, how_.batch, bits_);
  pair.desk.answer(asked.question).use([&](const Tensor& answer) {
    asked.last.backward(answer / static_cast<double>(how_.batch));
  });
  pair.trainee.finish();
}

}  // namespace obol::method::gs_wgan
