#include "src/devices/local.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/devices/device_source.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGibibyte = int64_t{1} << 30;

Machine MakeMachine(int processors) {
  Machine machine;
  machine.name = "here";
  machine.cpu_model = "Fake CPU";
  machine.processors = processors;
  machine.memory = 64 * kGibibyte;
  return machine;
}

std::string Refusal(const v1::LocalConfig& config, const Machine& machine) {
  const auto devices = LocalDevices(config, machine);
  EXPECT_EQ(devices.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(devices.status().message());
}

TEST(LocalDevicesTest, ByDefaultEachProcessorIsASlotWithItsShareOfTheMemory) {
  const auto devices = LocalDevices({}, MakeMachine(4));
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 4u);
  EXPECT_EQ((*devices)[3].index(), 3);
  EXPECT_EQ((*devices)[3].threads(), 1);
  EXPECT_EQ((*devices)[3].memory_limit(), 16 * kGibibyte);
  EXPECT_EQ((*devices)[3].node(), "here");
  EXPECT_EQ((*devices)[3].model(), "Fake CPU");

  v1::LocalConfig threads;
  threads.set_threads_per_slot(3);
  EXPECT_EQ(LocalDevices(threads, MakeMachine(8))->size(), 2u);
  EXPECT_EQ(LocalDevices(threads, MakeMachine(1))->size(), 1u);
}

TEST(LocalDevicesTest, SlotsAndThreadsAreAFewTimesTheProcessorsAtMost) {
  for (const int too_many : {17, 1000000, std::numeric_limits<int>::max()}) {
    v1::LocalConfig slots;
    slots.set_cpu_slots(too_many);
    EXPECT_THAT(Refusal(slots, MakeMachine(2)), HasSubstr("local.cpu_slots must be from 0 to 16 here"));
    v1::LocalConfig threads;
    threads.set_threads_per_slot(too_many);
    EXPECT_THAT(Refusal(threads, MakeMachine(2)), HasSubstr("local.threads_per_slot must be from 1 to 16 here"));
  }
  v1::LocalConfig most;
  most.set_memory_limit(kGibibyte);
  most.set_cpu_slots(16);
  EXPECT_EQ(LocalDevices(most, MakeMachine(2))->size(), 16u);
  most.set_cpu_slots(400);
  EXPECT_EQ(LocalDevices(most, MakeMachine(100))->size(), 400u);
  most.set_cpu_slots(401);
  EXPECT_THAT(Refusal(most, MakeMachine(100)), HasSubstr("must be from 0 to 400 here (4 for each of 100 processors"));
}

TEST(LocalDevicesTest, NoMoreSlotsThanTheMachineHasMemoryFor) {
  Machine machine = MakeMachine(32);
  machine.memory = 4 * kGibibyte;
  const auto devices = LocalDevices(v1::LocalConfig(), machine);
  ASSERT_TRUE(devices.ok()) << devices.status();
  EXPECT_EQ(devices->size(), 16u);
  EXPECT_EQ(devices->front().memory_limit(), kGibibyte / 4);
  v1::LocalConfig given;
  given.set_cpu_slots(17);
  EXPECT_THAT(Refusal(given, machine), HasSubstr("with 17 devices each has 240 MiB"));
  given.set_memory_limit(kGibibyte);
  EXPECT_EQ(LocalDevices(given, machine)->size(), 17u);
  machine.memory = kGibibyte / 8;
  EXPECT_THAT(Refusal(v1::LocalConfig(), machine), HasSubstr("with 1 device each has 128 MiB"));
}

TEST(LocalDevicesTest, AllBlocksTogetherHaveThatLimit) {
  google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig> blocks;
  const int most = MostSlots(ThisMachine(/*with_gpus=*/false));
  blocks.Add()->mutable_local()->set_cpu_slots(most);
  blocks[0].mutable_local()->set_memory_limit(kGibibyte);
  ASSERT_TRUE(SelectDevices(blocks).ok());
  blocks.Add()->mutable_local()->set_cpu_slots(1);
  EXPECT_THAT(std::string(SelectDevices(blocks).status().message()),
              HasSubstr("training_service[1]: with it there are"));
}

TEST(LocalDevicesTest, AllBlocksTogetherShareTheMemory) {
  google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig> blocks;
  blocks.Add()->mutable_local()->set_cpu_slots(1);
  blocks.Add()->mutable_local()->set_cpu_slots(2);
  blocks.Add()->mutable_local()->set_cpu_slots(1);
  blocks.Mutable(2)->mutable_local()->set_memory_limit(kGibibyte);
  const auto devices = SelectDevices(blocks);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 4u);
  for (int slot = 0; slot < 3; ++slot) EXPECT_EQ((*devices)[slot].memory_limit(), AvailableMemory() / 4) << slot;
  EXPECT_EQ((*devices)[3].memory_limit(), kGibibyte);
}

TEST(LocalDevicesTest, InProcessThereIsOneDevice) {
  v1::LocalConfig config;
  config.set_isolation(v1::LocalConfig::IN_PROCESS);
  EXPECT_EQ(LocalDevices(config, MakeMachine(8))->size(), 1u);
  config.set_cpu_slots(2);
  EXPECT_THAT(Refusal(config, MakeMachine(8)), HasSubstr("local.isolation: IN_PROCESS allows one device"));

  google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig> blocks;
  blocks.Add()->mutable_local()->set_cpu_slots(1);
  blocks.Add()->mutable_local()->set_isolation(v1::LocalConfig::IN_PROCESS);
  EXPECT_THAT(std::string(SelectDevices(blocks).status().message()), HasSubstr("must be the only one"));
}

TEST(LocalDevicesTest, GpusAreThoseThatThisProcessMaySee) {
  Machine machine = MakeMachine(4);
  machine.visible_gpus = "GPU-b,GPU-a";
  Gpu gpu;
  gpu.uuid = "GPU-b";
  gpu.memory = 80 * kGibibyte;
  machine.gpus.push_back(gpu);
  gpu.index = 1;
  gpu.uuid = "GPU-a";
  gpu.active = true;
  machine.gpus.push_back(gpu);

  v1::LocalConfig config;
  config.add_gpu_indices(0);
  const auto devices = LocalDevices(config, machine);
  ASSERT_TRUE(devices.ok()) << devices.status();
  ASSERT_EQ(devices->size(), 1u) << "no CPU slots beside GPUs unless asked for";
  EXPECT_EQ((*devices)[0].uuid(), "GPU-b");
  EXPECT_EQ((*devices)[0].memory(), 80 * kGibibyte);
  EXPECT_EQ((*devices)[0].memory_limit(), 0);

  config.add_gpu_indices(1);
  EXPECT_THAT(Refusal(config, machine), HasSubstr("other processes run on GPU 1"));
  config.set_use_active_gpu(true);
  EXPECT_EQ(LocalDevices(config, machine)->size(), 2u);
  config.add_gpu_indices(2);
  EXPECT_EQ(Refusal(config, machine),
            "local.gpu_indices: there is no GPU 2 here (there is: 0, 1; CUDA_VISIBLE_DEVICES is 'GPU-b,GPU-a')");
}

TEST(LocalDevicesTest, BesideTheDevicesThereIsAPlaceForPreparingWork) {
  const std::vector<v1::Device> devices = *LocalDevices({}, MakeMachine(4));
  const std::vector<v1::Device> all = WithPlace(devices);
  ASSERT_EQ(all.size(), devices.size() + 1);
  const v1::Device& place = all.back();
  EXPECT_TRUE(place.prepares());
  EXPECT_EQ(place.kind(), v1::DeviceKind::CPU);
  EXPECT_EQ(place.threads(), 1);
  EXPECT_EQ(place.memory_limit(), devices[0].memory_limit());
  EXPECT_EQ(place.node(), "here");
  EXPECT_FALSE(all.front().prepares());

  std::vector<v1::Device> with_gpu = devices;
  with_gpu.emplace_back().set_kind(v1::DeviceKind::GPU);
  EXPECT_EQ(WithPlace(with_gpu).back().memory_limit(), 0) << "as the GPU's trial process";
  EXPECT_TRUE(WithPlace({}).empty());
  std::vector<v1::Device> in_process(1);
  in_process[0].set_isolation(v1::LocalConfig::IN_PROCESS);
  EXPECT_EQ(WithPlace(in_process).size(), 1u);
}

}  // namespace
}  // namespace lanista
