//! Whether a command reads or writes: by its name, as Redis 7.0 flags it in its answer to `COMMAND`.
//!
//! `PUBLISH` and `SPUBLISH` have neither flag and count as writing: they send on what the client sent. What a script
//! or a transaction does is not known by its name.

/// The type of a command, by its full name.
pub(super) fn request_type(command: &str) -> &'static str {
    let is_in = |names: &[&str]| names.binary_search(&command).is_ok();
    match (is_in(READING), is_in(WRITING)) {
        (true, _) => "read",
        (_, true) => "write",
        _ => "other",
    }
}

/// In the order of the alphabet.
#[rustfmt::skip]
const READING: &[&str] = &[
    "bitcount", "bitfield_ro", "bitpos", "dbsize", "dump", "eval_ro", "evalsha_ro", "exists", "expiretime",
    "fcall_ro", "geodist", "geohash", "geopos", "georadius_ro", "georadiusbymember_ro", "geosearch", "get",
    "getbit", "getrange", "hexists", "hget", "hgetall", "hkeys", "hlen", "hmget", "hrandfield", "hscan",
    "hstrlen", "hvals", "keys", "lcs", "lindex", "llen", "lolwut", "lpos", "lrange", "memory|usage", "mget",
    "object|encoding", "object|freq", "object|idletime", "object|refcount", "pexpiretime", "pfcount", "pttl",
    "randomkey", "scan", "scard", "sdiff", "sinter", "sintercard", "sismember", "smembers", "smismember",
    "sort_ro", "srandmember", "sscan", "strlen", "substr", "sunion", "touch", "ttl", "type", "xinfo|consumers",
    "xinfo|groups", "xinfo|stream", "xlen", "xpending", "xrange", "xread", "xrevrange", "zcard", "zcount",
    "zdiff", "zinter", "zintercard", "zlexcount", "zmscore", "zrandmember", "zrange", "zrangebylex",
    "zrangebyscore", "zrank", "zrevrange", "zrevrangebylex", "zrevrangebyscore", "zrevrank", "zscan", "zscore",
    "zunion",
];

/// In the order of the alphabet.
#[rustfmt::skip]
const WRITING: &[&str] = &[
    "append", "bitfield", "bitop", "blmove", "blmpop", "blpop", "brpop", "brpoplpush", "bzmpop", "bzpopmax",
    "bzpopmin", "copy", "decr", "decrby", "del", "expire", "expireat", "flushall", "flushdb", "function|delete",
    "function|flush", "function|load", "function|restore", "geoadd", "georadius", "georadiusbymember",
    "geosearchstore", "getdel", "getex", "getset", "hdel", "hincrby", "hincrbyfloat", "hmset", "hset", "hsetnx",
    "incr", "incrby", "incrbyfloat", "linsert", "lmove", "lmpop", "lpop", "lpush", "lpushx", "lrem", "lset",
    "ltrim", "migrate", "move", "mset", "msetnx", "persist", "pexpire", "pexpireat", "pfadd", "pfdebug",
    "pfmerge", "psetex", "publish", "rename", "renamenx", "restore", "restore-asking", "rpop", "rpoplpush",
    "rpush", "rpushx", "sadd", "sdiffstore", "set", "setbit", "setex", "setnx", "setrange", "sinterstore",
    "smove", "sort", "spop", "spublish", "srem", "sunionstore", "swapdb", "unlink", "xack", "xadd",
    "xautoclaim", "xclaim", "xdel", "xgroup|create", "xgroup|createconsumer", "xgroup|delconsumer",
    "xgroup|destroy", "xgroup|setid", "xreadgroup", "xsetid", "xtrim", "zadd", "zdiffstore", "zincrby",
    "zinterstore", "zmpop", "zpopmax", "zpopmin", "zrangestore", "zrem", "zremrangebylex", "zremrangebyrank",
    "zremrangebyscore", "zunionstore",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_tables_that_are_in_order() {
        assert!(READING.is_sorted() && WRITING.is_sorted());
        for (command, expected) in [
            ("get", "read"),
            ("zunion", "read"),
            ("append", "write"),
            ("publish", "write"),
            ("object|encoding", "read"),
            ("eval", "other"),
            ("(unknown)", "other"),
        ] {
            assert_eq!(request_type(command), expected, "{command}");
        }
    }
}
