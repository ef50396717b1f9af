// A disk that fills up, for tests of what happens then.
#ifndef LANISTA_TESTS_STORAGE_SMALL_DISK_H_
#define LANISTA_TESTS_STORAGE_SMALL_DISK_H_

#include <sched.h>
#include <sys/mount.h>

#include <string>
#include <utility>

namespace lanista {

// A file system in memory over a folder, for as long as the object lives. It is seen by the thread that made the object
// and by the threads and processes which that thread starts from then on: their mount namespace is a private one, so
// that a test which is killed leaves nothing mounted.
class SmallDisk {
 public:
  // `size` as mount(8) takes it: "400k". Only root may mount; see mounted().
  SmallDisk(std::string folder, const std::string& size) : folder_(std::move(folder)) {
    mounted_ = unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               mount("tmpfs", folder_.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // False where the test may not mount: skip it.
  bool mounted() const { return mounted_; }

  // Makes room. Returns whether that worked.
  bool Resize(const std::string& size) const {
    return mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0;
  }

 private:
  std::string folder_;
  bool mounted_ = false;
};

}  // namespace lanista

#endif  // LANISTA_TESTS_STORAGE_SMALL_DISK_H_
