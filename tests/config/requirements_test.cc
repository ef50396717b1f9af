#include "src/config/requirements.h"

#include "gtest/gtest.h"

namespace lanista {
namespace {

v1::RequirementsConfig Required() {
  v1::RequirementsConfig requirements;
  requirements.set_device_kind(v1::DeviceKind::GPU);
  requirements.set_min_device_memory(int64_t{16} << 30);
  (*requirements.mutable_node_labels())["rack"] = "7";
  (*requirements.mutable_node_labels())["gpu"] = "a100";
  return requirements;
}

OfferedDevices Offered(v1::DeviceKind::Kind kind, int gib, const Labels& labels = {}, int count = 1) {
  return {kind, int64_t{gib} << 30, labels, count};
}

TEST(RequirementsTest, AllOfThemHaveToBeMet) {
  const Labels both = {{"gpu", "a100"}, {"rack", "7"}, {"more", "x"}};
  EXPECT_TRUE(Meets(Offered(v1::DeviceKind::GPU, 16, both), Required()));
  EXPECT_FALSE(Meets(Offered(v1::DeviceKind::CPU, 16, both), Required()));
  EXPECT_FALSE(Meets(Offered(v1::DeviceKind::GPU, 15, both), Required()));
  EXPECT_FALSE(Meets(Offered(v1::DeviceKind::GPU, 0, both), Required())) << "nobody knows";
  EXPECT_FALSE(Meets(Offered(v1::DeviceKind::GPU, 16, {{"gpu", "a100"}}), Required()));
  EXPECT_FALSE(Meets(Offered(v1::DeviceKind::GPU, 16, {{"gpu", "t4"}, {"rack", "7"}}), Required()));
  EXPECT_TRUE(Meets(Offered(v1::DeviceKind::CPU, 0), v1::RequirementsConfig()));
}

TEST(RequirementsTest, PeopleReadWhatIsRequiredAndWhatIsMissing) {
  EXPECT_EQ(RequirementsText(Required()), "GPU, at least 16 GiB, label gpu=a100, label rack=7");
  EXPECT_EQ(WhyNoneMeets(Required(), {Offered(v1::DeviceKind::CPU, 8, {}, 2)}), "of 2 devices, none is a GPU");
  EXPECT_EQ(WhyNoneMeets(Required(), {Offered(v1::DeviceKind::CPU, 64), Offered(v1::DeviceKind::GPU, 8, {}, 2)}),
            "of 3 devices, 2 are GPUs, none of these has at least 16 GiB (the largest has 8 GiB)");
  EXPECT_EQ(WhyNoneMeets(Required(), {Offered(v1::DeviceKind::GPU, 0)}),
            "of 1 device, 1 is a GPU, none of these has at least 16 GiB (their memory is not known)");
  EXPECT_EQ(WhyNoneMeets(Required(), {Offered(v1::DeviceKind::GPU, 16, {{"gpu", "a100"}}),
                                      Offered(v1::DeviceKind::GPU, 16, {{"rack", "7"}})}),
            "of 2 devices, 2 are GPUs, 2 of these have at least 16 GiB, 1 of these has the label gpu=a100, none of "
            "these has the label rack=7");
  EXPECT_EQ(WhyNoneMeets(Required(), {Offered(v1::DeviceKind::GPU, 16, {{"gpu", "a100"}, {"rack", "7"}})}), "");
  v1::RequirementsConfig small;
  small.set_min_device_memory(100 << 20);
  EXPECT_EQ(RequirementsText(small), "at least 100 MiB");
}

TEST(LabelsTest, OptionsAreKeysWithOneValueEach) {
  const absl::StatusOr<Labels> labels = ParseLabels({"gpu=a100", "example.org/rack=7"});
  ASSERT_TRUE(labels.ok()) << labels.status();
  EXPECT_EQ(*labels, (Labels{{"gpu", "a100"}, {"example.org/rack", "7"}}));
  EXPECT_EQ(ParseLabels({"gpu"}).status().message(), "--label gpu: write KEY=VALUE, for example gpu=a100");
  EXPECT_EQ(ParseLabels({"gpu=a", "gpu=b"}).status().message(),
            "--label gpu=b: 'gpu' is named twice; it has one value");
  for (const char* const bad : {"=x", "x=", "a b=c", "a=b c", "-a=b", "a=b=c", "a=\xff"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseLabels({bad}).status())) << bad;
  }
  EXPECT_FALSE(ParseLabels({"a=" + std::string(65, 'x')}).ok());
  std::vector<std::string> many;
  for (int i = 0; i <= kMaxLabels; ++i) many.push_back(std::to_string(i) + "=x");
  EXPECT_FALSE(ParseLabels(many).ok());
}

}  // namespace
}  // namespace lanista
