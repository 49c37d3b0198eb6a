// Stands for the package of that name: where the agent looks for what it wraps. Asks an echo, no database.
'use strict';

const SharedClient = require('../shared-client.cjs');

module.exports = class Pool extends SharedClient {
  query(text, callback) {
    return super.query(text, callback);
  }
};
