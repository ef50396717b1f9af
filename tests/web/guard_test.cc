#include "src/web/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nlohmann/json.hpp"
#include "src/web/http.h"
#include "src/web/router.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kToken[] = "0123456789abcdef";

// A request as our own page sends it.
HttpRequest ApiRequest(const std::string& method = "GET") {
  HttpRequest request;
  request.method = method;
  request.path = {"api", "v1", "info"};
  request.headers = {{"host", "127.0.0.1:8081"}, {"authorization", std::string("Bearer ") + kToken}};
  if (method != "GET") {
    request.headers["content-type"] = "application/json";
    request.headers["origin"] = "http://127.0.0.1:8081";
    request.headers["sec-fetch-site"] = "same-origin";
  }
  return request;
}

// 0: it passes.
int Refused(const HttpRequest& request, const GuardOptions& options = {kToken, {"page.example.org", "[fd00::1]"}}) {
  const std::optional<HttpResponse> refused = RefuseRequest(request, options);
  return refused.has_value() ? refused->status : 0;
}

TEST(GuardTest, OurOwnPageMayAsk) {
  for (const char* const method : {"GET", "HEAD", "POST", "PUT", "DELETE"}) {
    EXPECT_EQ(Refused(ApiRequest(method)), 0) << method;
  }
}

TEST(GuardTest, OnlyNamesOfOursAreServed) {
  HttpRequest request = ApiRequest();
  for (const char* const host : {"localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:80", "[::1]", "[::1]:8081",
                                 "page.example.org", "Page.Example.Org:443", "[fd00::1]:81"}) {
    request.headers["host"] = host;
    EXPECT_EQ(Refused(request), 0) << host;
  }
  for (const char* const host :
       {"evil.org", "evil.org:8081", "127.0.0.1.evil.org", "localhost.", "10.0.0.1", "[fd00::2]", "127.0.0.1, evil.org",
        "127.0.0.1:80@evil.org", ":8081", "page.example.org.evil"}) {
    request.headers["host"] = host;
    EXPECT_EQ(Refused(request), 421) << host;
  }
  request.headers["host"] = "evil.org:8081";
  EXPECT_THAT(*RefuseRequest(request, {})->body, HasSubstr("--web-host evil.org "));
  request.path = {};
  EXPECT_EQ(Refused(request), 421) << "not even the page's files";
  request.headers.erase("host");
  EXPECT_EQ(Refused(request), 400);
}

TEST(GuardTest, TheApiNeedsTheTokenAndThePageDoesNot) {
  HttpRequest request = ApiRequest();
  for (const std::string& authorization :
       {std::string(), std::string("Bearer"), std::string("Bearer "), std::string("Bearer 0123456789abcdeF"),
        std::string("Bearer ") + kToken + "0", std::string("Basic ") + kToken, std::string(kToken)}) {
    request.headers["authorization"] = authorization;
    EXPECT_EQ(Refused(request), 401) << authorization;
  }
  request.path = {"api"};
  EXPECT_EQ(Refused(request), 401) << "what there is, is a secret, too";
  for (const auto& path : {std::vector<std::string>{}, {"index.html"}, {"API"}}) {
    request.path = path;
    EXPECT_EQ(Refused(request), 0);
  }
  request = ApiRequest();
  request.headers["authorization"] = std::string("bearer ") + kToken;
  EXPECT_EQ(Refused(request), 0);
  request.headers.erase("authorization");
  EXPECT_EQ(Refused(request, {"", {}}), 0) << "--web-token none";
}

TEST(GuardTest, AnotherSitesPageMayNotAsk) {
  for (const char* const method : {"GET", "POST", "PUT", "DELETE"}) {
    HttpRequest request = ApiRequest(method);
    for (const char* const origin : {"http://evil.org", "null", "file://", "http://127.0.0.1:9999",
                                     "http://localhost:8081", "http://127.0.0.1:8081.evil.org", "127.0.0.1:8081"}) {
      request.headers["origin"] = origin;
      EXPECT_EQ(Refused(request), 403) << method << " " << origin;
    }
    for (const char* const origin : {"http://127.0.0.1:8081", "https://127.0.0.1:8081", "https://page.example.org"}) {
      request.headers["origin"] = origin;
      EXPECT_EQ(Refused(request), 0) << method << " " << origin;
    }
    for (const char* const site : {"cross-site", "same-site"}) {
      request.headers["sec-fetch-site"] = site;
      EXPECT_EQ(Refused(request), 403) << method << " " << site;
    }
  }
  HttpRequest link = ApiRequest();
  link.path = {};
  link.headers["sec-fetch-site"] = "cross-site";
  EXPECT_EQ(Refused(link), 0) << "a link in a chat opens the page";
}

TEST(GuardTest, WhatWritesSendsJson) {
  for (const char* const method : {"POST", "PUT", "DELETE", "PATCH"}) {
    HttpRequest request = ApiRequest(method);
    for (const char* const type : {"", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"}) {
      request.headers["content-type"] = type;
      EXPECT_EQ(Refused(request), 415) << method << " " << type;
    }
    request.headers["content-type"] = "Application/JSON; charset=utf-8";
    EXPECT_EQ(Refused(request), 0) << method;
  }
}

TEST(GuardTest, SecretsAreComparedAsAWhole) {
  EXPECT_TRUE(SameSecret("abc", "abc"));
  EXPECT_FALSE(SameSecret("abc", "abd"));
  EXPECT_FALSE(SameSecret("abc", "ab"));
  EXPECT_FALSE(SameSecret("", "a"));
}

TEST(HttpTest, TargetsAreDecodedPartByPart) {
  HttpRequest request;
  ASSERT_TRUE(ParseTarget("/a/b%20c/?d=e%26&f&g=h+i&d=j", &request).ok());
  EXPECT_THAT(request.path, ElementsAre("a", "b c", ""));
  EXPECT_EQ(request.query["d"], "j");
  EXPECT_EQ(request.query["g"], "h i");
  EXPECT_EQ(request.query.count("f"), 1u);
  HttpRequest root;
  ASSERT_TRUE(ParseTarget("/?", &root).ok());
  EXPECT_THAT(root.path, IsEmpty());
}

TEST(HttpTest, NothingIsCalledSo) {
  for (const char* const target :
       {"/..", "/a/../b", "/a/%2e%2e/b", "/a/.%2E", "/a%2fb", "/a%2Fb", "/a%00", "/%2e", "/a/./b"}) {
    HttpRequest request;
    EXPECT_TRUE(absl::IsNotFound(ParseTarget(target, &request))) << target;
  }
  for (const char* const target : {"", "*", "a", "http://a/b", "/%", "/%2", "/%zz", "/a?b=%g1", "/a?%=b"}) {
    HttpRequest request;
    EXPECT_TRUE(absl::IsInvalidArgument(ParseTarget(target, &request))) << target;
  }
}

TEST(HttpTest, AnErrorIsJsonWhateverItsTextHolds) {
  const HttpResponse response = ErrorResponse(absl::NotFoundError("no \xff <b>\n"));
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(nlohmann::json::parse(*response.body)["error"], "no \xEF\xBF\xBD <b>\n");
}

HttpResponse Said(const std::string& text) {
  HttpResponse response;
  response.body = std::make_shared<const std::string>(text);
  return response;
}

TEST(RouterTest, WhatIsNotOnTheListIs404Or405) {
  Router router;
  router.Add("GET", "a/*", [](const HttpRequest&, const Router::Parameters& p) { return Said("get " + p[0]); });
  router.Add("DELETE", "a/*", [](const HttpRequest&, const Router::Parameters& p) { return Said("delete " + p[0]); });
  router.Add("GET", "a/*/b/*", [](const HttpRequest&, const Router::Parameters& p) { return Said(p[0] + p[1]); });
  const auto route = [&](const std::string& method, const std::vector<std::string>& path) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    return router.Route(request);
  };
  EXPECT_EQ(*route("GET", {"a", "x"}).body, "get x");
  EXPECT_EQ(*route("HEAD", {"a", "x"}).body, "get x");
  EXPECT_EQ(*route("DELETE", {"a", "*"}).body, "delete *");
  EXPECT_EQ(*route("GET", {"a", "x", "b", "y"}).body, "xy");
  for (const auto& path :
       {std::vector<std::string>{}, {"a"}, {"a", ""}, {"b", "x"}, {"a", "x", "c", "y"}, {"a", "x", "b", "y", ""}}) {
    EXPECT_EQ(route("GET", path).status, 404);
  }
  for (const char* const method : {"POST", "OPTIONS", "TRACE", "CONNECT", "get", ""}) {
    const HttpResponse refused = route(method, {"a", "x"});
    EXPECT_EQ(refused.status, 405) << method;
    EXPECT_THAT(refused.headers, testing::Contains(testing::Pair("Allow", "GET, HEAD, DELETE")));
  }
}

TEST(GuardTest, MetricsHaveATokenOfTheirOwnThatOpensNothingElse) {
  GuardOptions options{kToken, {}};
  options.metrics_token = "fedcba9876543210";
  HttpRequest request = ApiRequest();
  request.path = {"metrics"};
  EXPECT_EQ(Refused(request, options), 0) << "whoever may do everything may read them";
  const std::string metrics_token = "Bearer " + options.metrics_token;
  request.headers["authorization"] = metrics_token;
  EXPECT_EQ(Refused(request, options), 0);
  request.headers["host"] = "evil.org";
  EXPECT_EQ(Refused(request, options), 421);
  request.headers["host"] = "localhost";
  request.headers["sec-fetch-site"] = "cross-site";
  EXPECT_EQ(Refused(request, options), 403);
  request.headers.erase("sec-fetch-site");
  for (const char* const wrong : {"", "Bearer ", "Bearer fedcba987654321", "Basic fedcba9876543210"}) {
    request.headers["authorization"] = wrong;
    EXPECT_EQ(Refused(request, options), 401) << wrong;
  }
  EXPECT_THAT(*RefuseRequest(request, options)->body, HasSubstr("metrics_token"));
  request.headers["authorization"] = metrics_token;
  for (const std::vector<std::string>& path :
       {std::vector<std::string>{"api", "v1", "info"}, {"api", "metrics"}, {"api"}}) {
    request.path = path;
    EXPECT_EQ(Refused(request, options), 401) << path.back();
  }
  // Where there is no such token, an empty one is none.
  options.metrics_token.clear();
  request.path = {"metrics"};
  request.headers["authorization"] = "Bearer ";
  EXPECT_EQ(Refused(request, options), 401);
  options.token.clear();
  request.headers.erase("authorization");
  EXPECT_EQ(Refused(request, options), 0) << "--web-token none";
}

}  // namespace
}  // namespace lanista
