#include "tests/rpc/certificates.h"

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <utility>

namespace lanista {
namespace {

constexpr long kDay = 24 * 3600;

void AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  EXPECT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Everything but issuer, extensions and signature.
X509* Begin(const std::string& name, EVP_PKEY* key, long valid_seconds) {
  static int serial = 0;
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay);
  X509_gmtime_adj(X509_getm_notAfter(certificate), valid_seconds);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

// By a rename, as it should be done.
template <typename Write>
void WritePem(const std::string& path, mode_t mode, Write write) {
  const std::string unfinished = path + ".new";
  std::FILE* const file = std::fopen(unfinished.c_str(), "w");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(write(file), 1);
  std::fclose(file);
  chmod(unfinished.c_str(), mode);
  EXPECT_EQ(std::rename(unfinished.c_str(), path.c_str()), 0);
}

void WriteCertificate(const std::string& path, X509* certificate) {
  WritePem(path, 0644, [certificate](std::FILE* file) { return PEM_write_X509(file, certificate); });
}

}  // namespace

TestAuthority::TestAuthority(std::string folder, const std::string& name)
    : folder_(std::move(folder)),
      file_(folder_ + "/" + name + ".pem"),
      key_(EVP_EC_gen("P-256"), &EVP_PKEY_free),
      certificate_(Begin(name, key_.get(), kDay), &X509_free) {
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  AddExtension(certificate_.get(), certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate_.get(), key_.get(), EVP_sha256());
  WriteCertificate(file_, certificate_.get());
}

TestCertificate TestAuthority::Issue(const std::string& file_name, const std::string& names, long valid_seconds) const {
  const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  const Certificate certificate(Begin(file_name, key.get(), valid_seconds), &X509_free);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  AddExtension(certificate.get(), certificate_.get(), NID_basic_constraints, "critical,CA:FALSE");
  AddExtension(certificate.get(), certificate_.get(), NID_subject_alt_name, names);
  X509_sign(certificate.get(), key_.get(), EVP_sha256());
  TestCertificate files = {folder_ + "/" + file_name + ".pem", folder_ + "/" + file_name + ".key"};
  WritePem(files.key, 0600, [&key](std::FILE* file) {
    return PEM_write_PrivateKey(file, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  WriteCertificate(files.certificate, certificate.get());
  return files;
}

}  // namespace lanista
