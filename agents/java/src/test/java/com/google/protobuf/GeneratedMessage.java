/* Stands for the base class of messages of that name. */
package com.google.protobuf;

public abstract class GeneratedMessage {}
