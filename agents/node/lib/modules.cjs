// Looks at files of packages as they are loaded, for what has no diagnostics channel. Not a patch of `require`:
// a file's exports are shown once, right after its code has run.
'use strict';

const Module = require('module');

/** `files`: [[pattern of the file's path, what to do with its exports]]. */
function followFiles(recording, files) {
  const load = Module._extensions['.js'];
  Module._extensions['.js'] = function (module, filename) {
    load.apply(this, arguments);
    for (const [pattern, followFile] of files) {
      if (pattern.test(filename)) recording.guarded(() => followFile(module.exports))();
    }
  };
}

module.exports = { followFiles };
