export default [{ files: ["**/*.js"], rules: { "no-unused-vars": "error", eqeqeq: "error" } }];
