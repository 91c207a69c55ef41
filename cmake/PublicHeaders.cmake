# The headers that are installed: what programs outside this tree may include, and what these include
# in turn. The others are internal and may change at any time. tests/consumer compiles them
# against an installed copy.
set(OBOL_PUBLIC_HEADERS
  app/account.h app/calibrate.h app/data.h app/evaluate.h app/federate.h app/machine.h app/privatize.h
  app/release.h app/request.h app/sweep.h app/train.h app/transport.h
  barrier/barrier.h barrier/door.h barrier/mechanism.h barrier/outer.h barrier/purposes.h barrier/records.h
  barrier/sum.h
  base/error.h base/file.h base/interrupt.h base/random.h base/reporter.h base/types.h base/version.h
  data/catalogue.h data/dataset.h data/declaration.h data/picture.h data/private.h data/reader.h
  data/record_stream.h data/writer.h
  evaluate/evaluation.h
  features/fourier.h features/group_norm.h features/patches.h features/scattering.h
  local/mechanism.h local/privatize.h local/privatized.h local/wavelet.h
  method/certificates.h method/context.h method/experiment.h method/fit.h method/fit_by_name.h
  method/generator_method.h method/methods.h method/optimizer_options.h method/place.h
  method/privacy_options.h method/state.h method/trainee.h method/training_plan.h
  model/generator.h model/generator_file.h model/options.h model/sample.h
  model/scattering_classifier.h model/script.h
  privacy/accountant.h privacy/calibrate.h privacy/certificate.h privacy/disclosures.h privacy/event.h
  privacy/gaussian.h privacy/guard.h privacy/ledger.h privacy/noise.h privacy/plan.h privacy/pld.h
  privacy/published.h privacy/rdp.h privacy/registry.h privacy/stages.h
  recipe/fields.h recipe/grid.h recipe/place.h recipe/recipe.h
  report/compare.h report/release.h report/report.h report/sweep.h
  run/checkpoint.h run/folder.h run/grid.h run/loop.h run/metrics.h
  transport/exact.h transport/sinkhorn.h transport/types.h
  transport/tensor/cost.h transport/tensor/loss.h transport/tensor/problem.h
  # Included by the ones above.
  base/host_device.h base/sha256.h data/pixel_bytes.h data/stream.h data/zip.h
  method/device_optimizer.h model/average.h privacy/noise_arithmetic.h report/facts.h report/html.h
  run/append_file.h transport/cost_view.h)
