// Makes the types of the server's interface (src/model/interface.generated.ts) from its description,
// docs/reference/openapi.json. The file is written only when it differs, so that builds see no change where
// there is none; it is not tracked, as the description already is.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const description = new URL('../../docs/reference/openapi.json', import.meta.url);
const output = new URL('../src/model/interface.generated.ts', import.meta.url);
const header = `// Made from docs/reference/openapi.json by scripts/generate-interface.mjs (npm run generate).
// Not for editing: the server's types say what it answers.
`;

const tree = await openapiTS(description, {
  alphabetize: false,
  // What has a default need not be asked for.
  defaultNonNullable: false,
  enumValues: true,
  rootTypes: true,
  rootTypesNoSchemaPrefix: true,
  silent: true,
});
const text = header + astToString(tree);
let known = null;
try {
  known = readFileSync(output, 'utf8');
} catch {
  // It was never made.
}
if (known !== text) writeFileSync(output, text);
