#include "obol/evaluate/frechet.h"

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "obol/base/error.h"
#include "obol/data/npy.h"
#include "obol/data/zip.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

// Rounding leaves eigenvalues that should be zero a little below it.
Tensor roots(const Tensor& eigenvalues) { return eigenvalues.clamp_min(0).sqrt(); }

Tensor square_root(const Tensor& symmetric) {
  const auto [values, vectors] = torch::linalg_eigh(symmetric);
  return torch::mm(vectors * roots(values), vectors.t());
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return std::as_bytes(
      std::span(tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())));
}

void add_array(data::ZipWriter& zip, const std::string& name, const Tensor& values) {
  const Tensor dense = values.to(torch::kCPU, torch::kDouble).contiguous();
  zip.add(name + ".npy", [&](const data::ZipWriter::Sink& sink) {
    const std::string header = data::npy_header<double>(dense.sizes().vec());
    sink(std::as_bytes(std::span(header)));
    sink(bytes_of(dense));
  });
}

Tensor read_array(const Bytes& file, const std::string& name) {
  const std::vector<data::ZipEntry> entries = data::read_zip_directory(file);
  const auto entry = std::find_if(entries.begin(), entries.end(), [&](const data::ZipEntry& one) {
    return one.name == name + ".npy";
  });
  if (entry == entries.end())
    throw DataError(violation("a file of moments", "one with " + name, "without it", file.name()));
  const auto stream = data::open_zip_entry(file, *entry, {});
  const data::NpyHeader header = data::read_npy_header(*stream);
  const std::vector<double> values = data::read_npy_values<double>(*stream, header, {});
  const std::vector<std::int64_t> shape(header.shape.begin(), header.shape.end());
  return torch::tensor(at::ArrayRef<double>(values), torch::kDouble).view(shape);
}

}  // namespace

void MomentSum::add(const Tensor& features) {
  const torch::NoGradGuard no_grad;
  if (features.dim() != 2 || (shift_.defined() && features.size(1) != shift_.size(0)))
    throw InvalidArgument(violation("features", "rows as wide as those before",
                                    fmt::format("[{}]", fmt::join(features.sizes(), ", "))));
  if (features.size(0) == 0) return;
  Tensor rows = features.to(torch::kCPU, torch::kDouble);
  if (!rows.isfinite().all().item<bool>())
    throw InvalidArgument(violation("features", "finite", "infinite or not a number"));
  if (!shift_.defined()) {
    shift_ = rows.mean(0);
    sum_ = torch::zeros_like(shift_);
    products_ = torch::zeros({rows.size(1), rows.size(1)}, rows.options());
  }
  rows = rows - shift_;
  sum_ += rows.sum(0);
  products_.addmm_(rows.t(), rows);
  count_ += rows.size(0);
}

Moments MomentSum::moments() const {
  if (count_ < 2) throw InvalidArgument(violation("the rows of features", "at least 2", count_));
  const auto count = static_cast<double>(count_);
  const Tensor mean = sum_ / count;
  return {.mean = mean + shift_,
          .covariance = (products_ - count * torch::outer(mean, mean)) / (count - 1),
          .count = count_};
}

Moments moments_of(const Tensor& features) {
  MomentSum sum;
  sum.add(features);
  return sum.moments();
}

double frechet_distance(const Moments& first, const Moments& second) {
  const torch::NoGradGuard no_grad;
  if (first.mean.sizes() != second.mean.sizes())
    throw InvalidArgument(
        violation("the features of both sides", "equally many",
                  fmt::format("{} and {}", first.mean.numel(), second.mean.numel())));
  const Tensor root = square_root(first.covariance);
  const Tensor product = torch::mm(torch::mm(root, second.covariance), root);
  const Tensor middle = roots(torch::linalg_eigvalsh((product + product.t()) / 2)).sum();
  const Tensor distance = (first.mean - second.mean).square().sum() + first.covariance.trace() +
                          second.covariance.trace() - 2 * middle;
  return std::max(0.0, distance.item<double>());
}

void write_moments(const Moments& moments, const Path& path) {
  AtomicFile file(path);
  data::ZipWriter zip(file);
  add_array(zip, "mu", moments.mean);
  add_array(zip, "sigma", moments.covariance);
  add_array(zip, "count", torch::tensor({static_cast<double>(moments.count)}, torch::kDouble));
  zip.finish();
  file.commit();
}

Moments read_moments(const Path& path) {
  const FileBytes file(path);
  Moments moments{.mean = read_array(file, "mu"), .covariance = read_array(file, "sigma")};
  const std::int64_t width = moments.mean.numel();
  if (moments.mean.dim() != 1 || moments.covariance.sizes() != at::IntArrayRef({width, width}))
    throw DataError(
        violation("moments", "a vector and a square matrix of its size", "not", path.string()));
  moments.count = static_cast<std::int64_t>(read_array(file, "count").item<double>());
  return moments;
}

}  // namespace obol::evaluate
