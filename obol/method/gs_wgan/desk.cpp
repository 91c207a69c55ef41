#include "obol/method/gs_wgan/desk.h"

#include <vector>

namespace obol::method::gs_wgan {

using torch::Tensor;

Desk::Place Desk::room_for(const Records& like, std::int64_t most, std::int64_t numbers) {
  std::vector<std::int64_t> sizes = like.images.sizes().vec();
  sizes.front() = most;
  const auto device = like.images.device();
  return {.records = {.images = torch::zeros(sizes, like.images.options()),
                      .labels = torch::zeros({most}, like.labels.options())},
          .count = torch::zeros({}, torch::TensorOptions(device).dtype(torch::kDouble)),
          .state = {torch::zeros({numbers}, device)}};
}

Desk::Desk(const Holder& like, std::int64_t most)
    : teacher_(like.teacher()), place_(like.records().map([&](const Records& records) {
        return room_for(records, most, teacher_.critic.state_size());
      })) {}

void Desk::seat(const Holder& holder, const Private<CriticState>& state) {
  place_.use_with(holder.records(), [](const Place& place, const Records& records) {
    const std::int64_t count = records.images.size(0);
    place.records.images.narrow(0, 0, count).copy_(records.images);
    place.records.labels.narrow(0, 0, count).copy_(records.labels);
    place.count.fill_(count);
  });
  place_.use_with(state, [](const Place& place, const CriticState& from) {
    place.state.numbers.copy_(from.numbers);
  });
}

Private<Tensor> Desk::answer(const Question& question) {
  return place_.map([&](const Place& place) {
    const std::int64_t draws = question.labels.numel();
    // In double, a number below 1 times a count rounds to below the count.
    const Tensor chosen =
        torch::rand({draws}, place.count.options()).mul_(place.count).to(torch::kLong);
    const Tensor mix = torch::rand({draws, 1, 1, 1}, place.state.numbers.options());
    return teacher_.teach(place.state, place.records, {chosen, mix}, question);
  });
}

void Desk::copy_to(const Private<CriticState>& state) const {
  place_.use_with(state, [](const Place& place, const CriticState& to) {
    to.numbers.copy_(place.state.numbers);
  });
}

}  // namespace obol::method::gs_wgan
