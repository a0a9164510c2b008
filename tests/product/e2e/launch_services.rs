//! A launch run of the real binary that ends in a commit service on loopback, with a real git repository behind it.

use serde_json::json;

use codeyard_test_support::commit_service::{Fault, Forge};
use codeyard_test_support::git;

use crate::e2e::launch::{Client, Sample, run_of};
use crate::running_server::Yard;

const TOKEN: &str = "only-for-the-service";

#[test]
fn a_run_ends_in_one_pull_request_of_a_service_that_loses_answers() {
    for kind in ["github", "http"] {
        let sample = Sample::new();
        let forge = Forge::of(&sample.top().join("site"), |_, _| None);
        let top = sample.top();
        let url = "https://forge.example/acme/site";
        let configuration = format!(
            "{}rewrites = [{{ from = \"{url}\", to = {:?} }}]\nservices = [{{ base_url = {:?}, token_env = \"FORGE_TOKEN\" }}]\n",
            sample.configuration(),
            top.join("site"),
            forge.base_url()
        );
        let yard = Yard::serve_in(&configuration, &[], &[("FORGE_TOKEN", TOKEN)]);
        let mut client = Client::of(&yard);
        let mut config = sample.run_config();
        config["site"]["repo_url"] = json!(url);
        config["commit_service"] = json!({"kind": kind, "base_url": "http://127.0.0.1:9"});
        let refused = client.refused("launch_start_run", &json!({"run_config": config}));
        assert_eq!(refused["details"]["reason"], "service_not_allowed", "{refused}");
        config["commit_service"]["base_url"] = json!(forge.base_url());
        let run = run_of(&client.ok("launch_start_run", &json!({"run_config": config})));
        client.wait(&run, "READY_FOR_PR");

        forge.fails(|_, line| line.starts_with("POST").then_some(Fault::Answer(500, "", String::new())));
        let failed = client.refused("launch_open_pr", &run);
        assert_eq!((&failed["code"], &failed["retryable"]), (&json!("COMMIT_SERVICE_ERROR"), &json!(true)), "{failed}");
        assert_eq!(client.state(&run), "READY_FOR_PR");
        forge.fails(|nth, line| (nth % 2 == 0 && line.starts_with("POST")).then_some(Fault::LoseAnswer));
        let published = client.ok("launch_open_pr", &run);
        let pulls = forge.pulls();
        assert_eq!((pulls.len(), &pulls[0]["html_url"]), (1, &published["pr_url"]), "{kind}");
        let branch = published["branch"].as_str().unwrap();
        assert_eq!(sample.branches(), [branch]);
        assert_eq!(git::git(&top.join("site"), &["rev-parse", branch]), published["commit_sha"].as_str().unwrap());
        assert_eq!(client.state(&run), "DONE");
        let said = format!("{}{:?}", yard.log(), client.events(&run));
        assert!(!said.contains(TOKEN), "the token is shown");
        yard.stop();
    }
}
