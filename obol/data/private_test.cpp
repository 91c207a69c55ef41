#include "obol/data/private.h"

#include <ostream>
#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "obol/data/dataset.h"
#include "obol/data/testing.h"

namespace obol {

namespace data {
namespace {

using testing::counting_bytes;
using testing::KeptReasons;
using testing::opened;
using testing::says;
using testing::usage_refusal;

template <class A>
concept Comparable = requires(const A& a) { a == a; };
template <class A>
concept Ordered = requires(const A& a) { a < a; };
template <class A>
concept Streamable = requires(std::ostream& out, const A& a) { out << a; };
template <class A>
concept Dereferenceable = requires(const A& a) { *a; };
template <class A>
concept HasArrow = requires(const A& a) { a.operator->(); };
template <class A>
concept HasFacts = requires(const A& a) { a.facts(); };
template <class A>
concept ReleasedWithoutKey = requires(const A& a) { a.release(); };
template <class A>
concept DeclassifiedWithoutReason = requires(const A& a, KeptReasons& log) { a.declassify(log); };
template <class A>
concept DeclassifiedWithoutLog = requires(const A& a) { a.declassify("why"); };

template <class A>
concept DeclassifiedFromTemporary =
    requires(KeptReasons& log) { std::declval<A>().declassify("why", log); };

using PrivateNumber = Private<double>;
static_assert(!DeclassifiedFromTemporary<PrivateNumber>, "what it hands out would dangle");
static_assert(DeclassifiedFromTemporary<const PrivateNumber&>);
static_assert(!std::is_convertible_v<PrivateNumber, double>);
static_assert(!std::is_constructible_v<double, PrivateNumber>, "not even when asked for");
static_assert(!std::is_constructible_v<bool, PrivateNumber>, "a truth value is a disclosure too");
static_assert(!std::is_convertible_v<double, PrivateNumber>, "private only where written down");
static_assert(!std::is_default_constructible_v<PrivateNumber>);
static_assert(!Comparable<PrivateNumber> && !Ordered<PrivateNumber>);
static_assert(!std::equality_comparable_with<PrivateNumber, double>);
static_assert(!Streamable<PrivateNumber>);
static_assert(!Dereferenceable<PrivateNumber> && !HasArrow<PrivateNumber>);
static_assert(!HasFacts<PrivateNumber>, "a type that declares nothing public has no facts");
static_assert(HasFacts<Private<Dataset>>);
static_assert(!ReleasedWithoutKey<PrivateNumber>);
static_assert(!DeclassifiedWithoutReason<PrivateNumber> && !DeclassifiedWithoutLog<PrivateNumber>);
static_assert(!std::is_convertible_v<Private<Dataset>, Dataset>);
// The checks above can tell: the type inside has what Private hides.
static_assert(Comparable<double> && Ordered<double> && Streamable<double>);

TEST(Private, MapsToAnotherPrivateValue) {
  const Private<int> number(20);
  const auto doubled = number.map([](const int& n) { return n * 2.5; });
  static_assert(std::is_same_v<decltype(doubled), const Private<double>>);
  EXPECT_EQ(opened(doubled), 50.0);
}

TEST(Private, MapsWithoutCopyingWhatItHolds) {
  struct Counted {
    explicit Counted(int* copies) : copies(copies) {}
    Counted(const Counted& other) : copies(other.copies) { ++*copies; }
    Counted(Counted&&) = default;
    int* copies;
  };
  int copies = 0;
  const Private<Counted> held{Counted(&copies)};
  EXPECT_TRUE(opened(held.map([](const Counted&) { return true; })));
  EXPECT_EQ(copies, 0);
}

TEST(Private, IsUsedInsideWithoutACopy) {
  const Private<std::string> text("abc");
  const Private<int> number(4);
  std::string written;
  text.use([&](const std::string& value) { written += value; });
  text.use_with(number, [&](const std::string& value, int times) {
    for (int k = 0; k < times; ++k) written += value.front();
  });
  EXPECT_EQ(written, "abcaaaa");
}

TEST(Private, RecordsTheReasonWhenItIsDeclassified) {
  KeptReasons log;
  const Private<int> number(7);
  const Declassified<int> open = number.declassify("accuracy on the training set", log);
  EXPECT_EQ(open.value, 7);
  EXPECT_EQ(open.reason, "accuracy on the training set");
  EXPECT_EQ(log.reasons, std::vector<std::string>{"accuracy on the training set"});
}

TEST(Private, IsNotDeclassifiedWithoutAReason) {
  KeptReasons log;
  const Private<int> number(7);
  EXPECT_TRUE(says(usage_refusal([&] { (void)number.declassify("", log); }), {"reason"}));
  EXPECT_TRUE(log.reasons.empty());
}

TEST(Private, IsNotDeclassifiedWhenTheReasonCannotBeRecorded) {
  struct FullLog final : DisclosureLog {
    void record(std::string_view) override { throw DataError("the disk is full"); }
  };
  FullLog log;
  const Private<int> number(7);
  EXPECT_THROW((void)number.declassify("why", log), DataError);
}

TEST(PrivateDataset, ShowsShapeClassesAndDeclaredSize) {
  const ImageShape shape{.channels = 3, .height = 4, .width = 5};
  const Private<Dataset> data(counting_bytes(6, shape, 2));
  const Dataset::PublicFacts facts = data.facts();
  EXPECT_EQ(facts.shape, shape);
  EXPECT_EQ(facts.num_classes, 2);
  EXPECT_EQ(facts.declared_size, 6);
}

TEST(PrivateDataset, KeepsTheDeclaredSizeOfASelection) {
  const Private<Dataset> data(counting_bytes(50, {.channels = 1, .height = 1, .width = 1}, 3));
  const Private<Dataset> batch = data.map([](const Dataset& all) {
    return select(all, {3, 17, 20});
  });
  EXPECT_EQ(opened(batch).count(), 3);
  EXPECT_EQ(batch.facts().declared_size, 50);
  EXPECT_EQ(batch.facts().num_classes, 3);
  EXPECT_EQ(batch.facts().shape, data.facts().shape);
}

TEST(Private, ComputesWithTwoAtOnce) {
  const Private<int> six(6);
  const Private<std::string> text("abc");
  const auto both = six.map_with(text, [](int number, const std::string& letters) {
    return letters + std::to_string(number);
  });
  static_assert(std::is_same_v<decltype(both), const Private<std::string>>);
  EXPECT_EQ(opened(both), "abc6");
}

}  // namespace
}  // namespace data
}  // namespace obol
